from llvmlite.ir import Constant, Type

class FormattedConstant(Constant):
    def __init__(self, typ: Type, constant: str) -> None: ...
