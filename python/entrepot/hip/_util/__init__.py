"""Types of HIP Python under the module names that HIP Python uses."""
