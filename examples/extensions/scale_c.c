/* Scales any array of float32 or float64 in place, in plain C. */
#include <entrepot/python/c_api.h>

static const entrepot_c_api *entrepot;

static void scale_axis(const entrepot_view *view, char *item, int axis, double factor) {
    if (axis == view->ndim) {
        if (view->dtype_bits == 32)
            *(float *)item = (float)(*(float *)item * factor);
        else
            *(double *)item *= factor;
        return;
    }
    for (int64_t i = 0; i < view->shape[axis]; ++i)
        scale_axis(view, item + i * view->strides[axis] * view->itemsize, axis + 1, factor);
}

static PyObject *scale(PyObject *module, PyObject *args) {
    PyObject *object;
    double factor;
    if (!PyArg_ParseTuple(args, "Od:scale", &object, &factor))
        return NULL;
    /* Writable, and reachable by the host: everything else is refused by entrepot with the reason.
     */
    entrepot_array *array = entrepot->from_object(object, ENTREPOT_WRITABLE | ENTREPOT_HOST);
    if (!array)
        return NULL;
    const entrepot_view *view = entrepot->view(array);
    const int is_floating = view->dtype_code == ENTREPOT_DTYPE_FLOAT && view->dtype_lanes == 1 &&
                            (view->dtype_bits == 32 || view->dtype_bits == 64);
    if (is_floating)
        scale_axis(view, view->data, 0, factor);
    else
        PyErr_SetString(PyExc_ValueError, "scale takes arrays of float32 or float64");
    entrepot->release(array);
    if (!is_floating)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"scale", scale, METH_VARARGS,
     "scale(array, factor)\n--\n\nMultiplies every element of any library's array, in place."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "scale_c", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_scale_c(void) {
    entrepot = entrepot_import();
    return entrepot ? PyModule_Create(&definition) : NULL;
}
