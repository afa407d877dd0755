"""
An oracle for tokens that shares nothing with the analysis it judges.

It runs the IR that `gpu-async-dataflow` wrote on concrete arguments (`interpreter`, `kernels`,
`scalars`, `views`), which gives a `Trace`: every operation that ran, the elements it touched, and
what was complete before it. `checks` compares the order with the elements, `programs` makes random
programs, `shrink` makes those that fail small, `campaign` does this for many.
"""
