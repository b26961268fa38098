"""Kernels in C: functions for one thread, made into the same tree as those in Python.

Source: SGMF, sections 2 and 6 (kernels are those of CUDA and OpenCL). The file is parsed
(`c_source`), never run. C has types where Python's kernels have kinds: each expression is
translated with its type, each conversion becomes an operation of its own, and what is left for
`tools.dataflow.compile` means the same in both. What C leaves undefined is in `c_operations`.
"""

import ast
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pycparser import c_ast

from cyclebound.golden.dataflow.kernel import (
    FUNCTIONS,
    Float,
    Floats,
    Int,
    Ints,
    Kernel,
    KernelError,
)
from cyclebound.golden.floating import rounded
from cyclebound.tools.dataflow.c_source import Macro, Source, parsed, place_of
from cyclebound.tools.dataflow.exits import HIDDEN, WhileLoop
from cyclebound.tools.dataflow.spans import wrapped

__all__ = ["c_kernels"]

THREAD = "get_global_id(0)"  # the name of the thread's number, which no variable can have
BOOL, INT, UNSIGNED, FLOAT, DOUBLE = "bool", "int", "unsigned int", "float", "double"
_TYPES = {("int",): INT, ("signed",): INT, ("signed", "int"): INT, ("unsigned",): UNSIGNED,
          ("unsigned", "int"): UNSIGNED, ("uint",): UNSIGNED, ("size_t",): UNSIGNED,
          ("float",): FLOAT, ("bool",): BOOL, ("_Bool",): BOOL}
_RING = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_FLOATS: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div}
_ORDER: dict[str, type[ast.cmpop]] = {"==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE,
                                      ">": ast.Gt, ">=": ast.GtE}
_DIVISION = {("/", INT): "div", ("/", UNSIGNED): "udiv", ("%", INT): "rem",
             ("%", UNSIGNED): "urem"}
_FLOATING = ("fabs", "fma", "fmax", "fmin", "rint", "round", "sqrt")  # and with an f
_FUNCTIONS = ("abs", "max", "min", *_FLOATING)
_BITS = 32


@dataclass(frozen=True)
class _Variable:
    """What a name of C is: Python's name, its type, and whether it is an array."""

    name: str
    type: str
    array: bool = False
    constant: bool = False
    parameter: bool = False


@dataclass(frozen=True)
class _Typed:
    """An expression and its type; of a number in double precision, which no unit has, its value."""

    tree: ast.expr
    type: str
    number: float = 0.0


def _names(node: c_ast.Node, found: set[str]) -> set[str]:
    """Names that are assigned to somewhere in a statement."""
    stack: list[c_ast.Node] = [node]
    while stack:
        inner = stack.pop()
        target = inner.lvalue if isinstance(inner, c_ast.Assignment) else (
            inner.expr if isinstance(inner, c_ast.UnaryOp) and inner.op in ("++", "--", "p++",
                                                                            "p--") else None)
        if isinstance(target, c_ast.ID):
            found.add(target.name)
        stack += list(inner)
    return found


@dataclass
class _Translator:
    """One function under way."""

    source: Source
    function: c_ast.FuncDef
    scopes: list[dict[str, _Variable]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)  # Python's names
    within: list[str] = field(default_factory=list)  # the macros whose expression this is
    line: int = 0  # of the outermost one's use
    hidden: int = 0

    # -- places and errors -------------------------------------------------------------------------

    def fail(self, node: c_ast.Node, what: str) -> KernelError:
        line, column = place_of(node)
        return KernelError(self.source.file, line, self.function.decl.name, what, column)

    def at(self, node: c_ast.Node, tree):
        """The tree, with the place of a node of C."""
        tree.lineno, column = place_of(node)
        tree.col_offset = column - 1
        return tree

    def call(self, node: c_ast.Node, name: str, *arguments: ast.expr) -> ast.expr:
        """An operation of `c_operations`."""
        return self.at(node, ast.Call(ast.Name(HIDDEN + name, ast.Load()), list(arguments), []))

    def constant(self, node: c_ast.Node, number: float) -> ast.expr:
        return self.at(node, ast.Constant(number))

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, name: str) -> str:
        """A name of Python's that stands for nothing else."""
        unused, count = name, 0
        while unused in self.taken or unused in FUNCTIONS:
            count += 1
            unused = f"{name}{HIDDEN}{count}"
        self.taken.add(unused)
        return unused

    def declare(self, node: c_ast.Node, name: str | None, kind: str, **more: bool) -> _Variable:
        if not name:
            raise self.fail(node, "a declaration without a name cannot be mapped")
        if name in self.source.macros:
            raise self.fail(node, f"{name} cannot be declared: it is a #define")
        if name in self.scopes[-1]:
            raise self.fail(node, f"{name} is declared twice")
        variable = _Variable(self.fresh(name), kind, **more)
        self.scopes[-1][name] = variable
        return variable

    def find(self, node: c_ast.ID) -> _Variable:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        raise self.fail(node, f"{node.name} is not declared")

    def macro(self, name: str, node: c_ast.Node) -> Macro | None:
        """The #define that a name is, at this place."""
        found = self.source.macros.get(name)
        line = self.line if self.within else place_of(node)[0]
        return found if found is not None and found.line < line else None

    def type_of(self, node: c_ast.Node, declared: c_ast.Node) -> str:
        """The type of a declaration that is no array."""
        if isinstance(declared, c_ast.TypeDecl) and isinstance(declared.type,
                                                               c_ast.IdentifierType):
            words = tuple(declared.type.names)
            if words in _TYPES:
                return _TYPES[words]
            raise self.fail(node, f"type {' '.join(words)} cannot be mapped: there are int, "
                            "unsigned int, float and bool")
        what = {c_ast.PtrDecl: "a pointer", c_ast.ArrayDecl: "an array of one's own",
                c_ast.FuncDecl: "a function in a function"}
        inner = getattr(declared, "type", None)
        kinds = {c_ast.Struct: "a struct", c_ast.Union: "a union", c_ast.Enum: "an enum"}
        raise self.fail(node, f"{what.get(type(declared)) or kinds.get(type(inner), 'this type')} "
                        "cannot be mapped")

    # -- the function ------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        declaration = self.function.decl
        name = declaration.name
        if not _is_void(declaration.type):
            raise self.fail(self.function, "a kernel must return void")
        if self.function.param_decls:
            raise self.fail(self.function, "parameters must be declared between the parentheses")
        self.scopes = [{}]
        for part in self.source.tree.ext:
            if isinstance(part, c_ast.Decl) and not isinstance(part.type, c_ast.FuncDecl):
                self.file_constant(part)
        self.scopes.append({})
        parameters: dict[str, type] = {}
        unsigned = set()
        arguments = declaration.type.args.params if declaration.type.args else []
        if len(arguments) == 1 and _is_void(arguments[0]):
            arguments = []
        for argument in arguments:
            variable = self.parameter(argument)
            floats = variable.type == FLOAT
            parameters[variable.name] = ((Floats if floats else Ints) if variable.array else
                                         Float if floats else Int)
            if variable.type == UNSIGNED:
                unsigned.add(variable.name)
        statements = [statement for parameter in list(self.scopes[-1])
                      for statement in self.own_copy(parameter)]
        for item in self.function.body.block_items or []:
            statements += self.statement(item)
        line, column = place_of(self.function)
        tree = ast.FunctionDef(name, ast.arguments([], [], None, [], [], None, []), statements,
                               [], lineno=line, col_offset=column - 1)
        ast.fix_missing_locations(tree)
        return Kernel(name, None, tree, THREAD, parameters, self.source.file, True,
                      frozenset(unsigned))

    def file_constant(self, declaration: c_ast.Decl) -> None:
        """A constant outside of functions: its value takes the place of its name."""
        kind = self.type_of(declaration, declaration.type)
        if "const" not in declaration.quals or declaration.init is None:
            raise self.fail(declaration, "a variable outside of the kernel must be const, and have "
                            "a value")
        value = self.converted(declaration, self.expression(declaration.init), kind)
        variable = self.declare(declaration, declaration.name, kind, constant=True)
        self.values[variable.name] = value

    @property
    def values(self) -> dict[str, ast.expr]:
        return self.__dict__.setdefault("_values", {})

    def parameter(self, node: c_ast.Node) -> _Variable:
        if not isinstance(node, c_ast.Decl):
            raise self.fail(node, "a parameter must have a type and a name")
        declared = node.type
        array = isinstance(declared, (c_ast.PtrDecl, c_ast.ArrayDecl))
        if array:
            declared = declared.type
            if isinstance(declared, (c_ast.PtrDecl, c_ast.ArrayDecl)):
                raise self.fail(node, f"parameter {node.name}: an array must have one dimension")
        kind = self.type_of(node, declared)
        if array and kind == BOOL:
            raise self.fail(node, "an array of bool cannot be mapped")
        constant = "const" in (declared.quals if array else node.quals)
        return self.declare(node, node.name, kind, array=array, constant=constant, parameter=True)

    def own_copy(self, name: str) -> list[ast.stmt]:
        """A variable in the place of a parameter that the function assigns to."""
        variable = self.scopes[-1][name]
        if variable.array or variable.constant or name not in _names(self.function.body, set()):
            return []
        value = self.value_of(self.function, variable).tree
        own = _Variable(self.fresh(name), variable.type)
        self.scopes[-1][name] = own
        return [self.assign(self.function, own.name, value)]

    # -- statements --------------------------------------------------------------------------------

    def assign(self, node: c_ast.Node, name: str, value: ast.expr) -> ast.stmt:
        return self.at(node, ast.Assign([self.at(node, ast.Name(name, ast.Store()))], value))

    def block(self, node: c_ast.Node | None) -> list[ast.stmt]:
        """A statement with a scope of its own."""
        if node is None:
            return []
        self.scopes.append({})
        items = (node.block_items or []) if isinstance(node, c_ast.Compound) else [node]
        statements = [statement for item in items for statement in self.statement(item)]
        self.scopes.pop()
        return statements

    def statement(self, node: c_ast.Node) -> list[ast.stmt]:
        match node:
            case c_ast.Compound():
                return self.block(node)
            case c_ast.Decl():
                return self.declaration(node)
            case c_ast.DeclList():
                return [made for inner in node.decls for made in self.declaration(inner)]
            case c_ast.Assignment() | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                return self.assignment(node)[0]
            case c_ast.If():
                test = self.truth(node.cond, self.expression(node.cond))
                return [self.at(node, ast.If(test, self.block(node.iftrue),
                                             self.block(node.iffalse)))]
            case c_ast.For():
                return self.for_loop(node)
            case c_ast.While():
                test = self.truth(node.cond, self.expression(node.cond))
                return [self.looped(node, test, node.stmt)]
            case c_ast.Break():
                return [self.at(node, ast.Break())]
            case c_ast.Continue():
                return [self.at(node, ast.Continue())]
            case c_ast.DoWhile():
                return self.do_loop(node)
            case c_ast.Return(expr=None):
                return [self.at(node, ast.Return(None))]
            case c_ast.EmptyStatement():
                return []
            case c_ast.Cast() if _is_void(node.to_type):
                return []  # (void)x, which says that x is not used
            case c_ast.FuncCall():
                self.expression(node)  # refuses what there is not
                raise self.fail(node, "a call without its result cannot be mapped")
        raise self.fail(node, f"{_construct(node)} cannot be mapped")

    def declaration(self, node: c_ast.Node) -> list[ast.stmt]:
        if not isinstance(node, c_ast.Decl):
            raise self.fail(node, f"{_construct(node)} cannot be mapped")
        for word in node.storage:
            if word != "register":
                raise self.fail(node, f"{word} cannot be mapped")
        kind = self.type_of(node, node.type)
        if "volatile" in node.quals:
            raise self.fail(node, "volatile cannot be mapped")
        value = None
        if node.init is not None:
            if isinstance(node.init, c_ast.InitList):
                raise self.fail(node, "a list of values cannot be mapped")
            value = self.converted(node, self.expression(node.init), kind)
        variable = self.declare(node, node.name, kind, constant="const" in node.quals)
        return [] if value is None else [self.assign(node, variable.name, value)]

    def assignment(self, node: c_ast.Node) -> tuple[list[ast.stmt], _Typed]:
        """The statements of ``=``, ``+=``, ``++`` and others, and what the left side is then."""
        if isinstance(node, c_ast.UnaryOp):
            one = c_ast.Constant("int", "1", node.coord)
            target, operator, right = node.expr, node.op[-1] + "=", one
        else:
            target, operator, right = node.lvalue, node.op, node.rvalue
        before: list[ast.stmt] = []
        if isinstance(target, c_ast.ID) and self.macro(target.name, target) is None:
            variable = self.find(target)
            if variable.array:
                raise self.fail(node, f"array {target.name} needs an index here")
            if variable.constant:
                raise self.fail(node, f"{target.name} is const")
            kind = variable.type
            left = self.value_of(target, variable)
            place: ast.expr = ast.Name(variable.name, ast.Store())
        elif isinstance(target, c_ast.ArrayRef):
            variable, index = self.element(target)
            if variable.constant:
                raise self.fail(node, f"{variable.name} is const")
            kind = variable.type
            if operator != "=" and any(isinstance(inner, ast.Subscript)
                                       for inner in ast.walk(index)):
                name = self.hide("index")  # what it loads is loaded once
                before.append(self.assign(target, name, index))
                index = ast.Name(name, ast.Load())
            left = _Typed(self.at(target, ast.Subscript(
                ast.Name(variable.name, ast.Load()), self.at(target, index), ast.Load())), kind)
            place = ast.Subscript(ast.Name(variable.name, ast.Load()), self.at(target, index),
                                  ast.Store())
        else:
            raise self.fail(node, f"an assignment to {_construct(target)} cannot be mapped")
        if operator == "=" and isinstance(right, c_ast.Assignment):  # a = b = c
            if isinstance(target, c_ast.ArrayRef) or isinstance(right.lvalue, c_ast.ArrayRef):
                raise self.fail(right, "an assignment in an expression cannot be mapped")
            more, value = self.assignment(right)
            before += more
        else:
            value = self.expression(right)
            if operator != "=":
                value = self.binary(node, operator[:-1], left, value)
        made = self.at(node, ast.Assign([self.at(target, place)],
                                        self.converted(node, value, kind)))
        return [*before, made], left

    def hide(self, name: str) -> str:
        self.hidden += 1
        return f"{HIDDEN}{name}{self.hidden}"

    def looped(self, node: c_ast.Node, test: ast.expr, body: c_ast.Node) -> WhileLoop:
        """A loop, with its bound where one is stated."""
        loop = self.at(node, WhileLoop(test, self.block(body), []))
        most = self.source.bounds.get(place_of(node))
        if most is not None:
            stated = self.expression(most)
            if stated.type not in (INT, UNSIGNED):
                raise self.fail(most, f"the bound of a loop must be an integer, not {stated.type}")
            loop.most = stated.tree
        return loop

    def for_loop(self, node: c_ast.For) -> list[ast.stmt]:
        self.scopes.append({})
        statements = [] if node.init is None else self.steps(node.init)
        test = (self.constant(node, True) if node.cond is None else
                self.truth(node.cond, self.expression(node.cond)))
        loop = self.looped(node, test, node.stmt)
        loop.step = [] if node.next is None else self.steps(node.next)
        self.scopes.pop()
        return [*statements, loop]

    def steps(self, node: c_ast.Node) -> list[ast.stmt]:
        """Statements between commas."""
        parts = node.exprs if isinstance(node, c_ast.ExprList) else [node]
        return [statement for part in parts for statement in self.statement(part)]

    def do_loop(self, node: c_ast.DoWhile) -> list[ast.stmt]:
        """``do``, as a loop whose condition is true at first."""
        again = self.hide("again")
        loop = self.looped(node, self.at(node, ast.Name(again, ast.Load())), node.stmt)
        test = self.truth(node.cond, self.expression(node.cond))
        loop.step = [self.assign(node.cond, again, test)]
        return [self.assign(node, again, self.constant(node, True)), loop]

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, node: c_ast.Node) -> _Typed:
        match node:
            case c_ast.Constant():
                return self.number(node)
            case c_ast.ID():
                return self.name(node)
            case c_ast.ArrayRef():
                variable, index = self.element(node)
                return _Typed(self.at(node, ast.Subscript(ast.Name(variable.name, ast.Load()),
                                                          index, ast.Load())), variable.type)
            case c_ast.UnaryOp():
                return self.unary(node)
            case c_ast.BinaryOp(op="&&" | "||"):
                both = [self.truth(inner, self.expression(inner))
                        for inner in (node.left, node.right)]
                operator = ast.And() if node.op == "&&" else ast.Or()
                return _Typed(self.at(node, ast.Call(ast.Name("bool", ast.Load()), [self.at(
                    node, ast.BoolOp(operator, both))], [])), INT)
            case c_ast.BinaryOp():
                if self.is_thread(node):
                    return self.thread(node)
                return self.binary(node, node.op, self.expression(node.left),
                                   self.expression(node.right))
            case c_ast.TernaryOp():
                test = self.truth(node.cond, self.expression(node.cond))
                yes, no = self.expression(node.iftrue), self.expression(node.iffalse)
                kind = self.common(node, yes, no)
                return _Typed(self.at(node, ast.IfExp(test, self.converted(node, yes, kind),
                                                      self.converted(node, no, kind))), kind)
            case c_ast.Cast():
                kind = self.type_of(node, node.to_type.type)
                return _Typed(self.converted(node, self.expression(node.expr), kind), kind)
            case c_ast.FuncCall():
                return self.function_call(node)
        raise self.fail(node, f"{_construct(node)} cannot be mapped")

    def number(self, node: c_ast.Constant) -> _Typed:
        text = node.value.lower()
        if node.type in ("float", "double", "long double"):
            if node.type == "long double":
                raise self.fail(node, f"{node.value} is a long double")
            digits = text.rstrip("f") if "x" not in text else (
                text[:-1] if node.type == "float" else text)
            exact = _exact(digits)
            if exact is None:
                raise self.fail(node, f"{node.value} has too many digits or too large an exponent")
            if node.type == "double":
                return _Typed(self.constant(node, 0.0), DOUBLE, _double(exact))
            return self.single(node, exact)
        if "int" not in node.type:
            raise self.fail(node, f"{_construct(node)} cannot be mapped")
        digits = text.rstrip("ul")
        suffix = text[len(digits):]
        base = 16 if digits.startswith("0x") else 2 if digits.startswith("0b") else (
            8 if digits.startswith("0") else 10)
        value = int(digits, base) if len(digits) <= _BITS + 8 else 1 << _BITS
        if "l" in suffix or value >> (_BITS if suffix or base != 10 else _BITS - 1):
            raise self.fail(node, f"{node.value} is a long: integers have {_BITS} bits")
        kind = UNSIGNED if suffix or value >> _BITS - 1 else INT
        return _Typed(self.constant(node, wrapped(value)), kind)

    def single(self, node: c_ast.Node, exact: Fraction) -> _Typed:
        """A constant in single precision, rounded once."""
        whole = exact.denominator.bit_length() + 64  # more bits than any number has
        scaled, rest = divmod(exact.numerator << whole, exact.denominator)
        bits = rounded(scaled << 1 | (rest != 0), -whole - 1)
        if bits & 0x7FFF_FFFF == 0x7F80_0000:
            raise self.fail(node, "a constant is too large for a float")
        return _Typed(self.constant(node, struct.unpack("<f", struct.pack("<I", bits))[0]), FLOAT)

    def name(self, node: c_ast.ID) -> _Typed:
        macro = self.macro(node.name, node)
        if macro is not None:
            return self.expanded(node, macro)
        if node.name in self.source.macros and all(node.name not in scope
                                                   for scope in self.scopes):
            raise self.fail(node, f"{node.name} is used before its #define")
        if node.name in ("true", "false") and all(node.name not in scope for scope in self.scopes):
            return _Typed(self.constant(node, node.name == "true"), INT)
        variable = self.find(node)
        if variable.array:
            raise self.fail(node, f"array {node.name} needs an index here: arithmetic on pointers "
                            "cannot be mapped")
        return self.value_of(node, variable)

    def expanded(self, node: c_ast.ID, macro: Macro) -> _Typed:
        if node.name in self.within:
            raise self.fail(node, f"#define {node.name} is made of itself")
        if not self.within:
            self.line = place_of(node)[0]
        self.within.append(node.name)
        value = self.expression(macro.body)
        self.within.pop()
        return value

    def value_of(self, node: c_ast.Node, variable: _Variable) -> _Typed:
        if variable.name in self.values:
            return _Typed(self.values[variable.name], variable.type)
        tree = self.at(node, ast.Name(variable.name, ast.Load()))
        if variable.parameter and variable.type != FLOAT:
            tree = self.call(node, "natural" if variable.type == UNSIGNED else "whole", tree)
            if variable.type == BOOL:
                tree = self.at(node, ast.Call(ast.Name("bool", ast.Load()), [tree], []))
        return _Typed(tree, variable.type)

    def element(self, node: c_ast.ArrayRef) -> tuple[_Variable, ast.expr]:
        if not isinstance(node.name, c_ast.ID) or self.macro(node.name.name, node) is not None:
            raise self.fail(node, "an element must be that of an array of the kernel, by one index")
        variable = self.find(node.name)
        if not variable.array:
            raise self.fail(node, f"{node.name.name} is no array")
        index = self.expression(node.subscript)
        if index.type in (FLOAT, DOUBLE):
            raise self.fail(node, f"an index must be an integer, not {index.type}")
        return variable, index.tree

    def is_thread(self, node: c_ast.Node) -> bool:
        """Whether it is blockIdx.x * blockDim.x + threadIdx.x, in any order."""
        def member(inner: c_ast.Node, name: str) -> bool:
            return (isinstance(inner, c_ast.StructRef) and inner.type == "."
                    and isinstance(inner.name, c_ast.ID) and inner.name.name == name
                    and inner.field.name == "x"
                    and not {name, "x"} & self.source.macros.keys()
                    and all(name not in scope for scope in self.scopes))

        def block(inner: c_ast.Node) -> bool:
            return (isinstance(inner, c_ast.BinaryOp) and inner.op == "*" and any(
                member(one, "blockIdx") and member(other, "blockDim")
                for one, other in ((inner.left, inner.right), (inner.right, inner.left))))

        return isinstance(node, c_ast.BinaryOp) and node.op == "+" and any(
            member(one, "threadIdx") and block(other)
            for one, other in ((node.left, node.right), (node.right, node.left)))

    def thread(self, node: c_ast.Node) -> _Typed:
        return _Typed(self.at(node, ast.Name(THREAD, ast.Load())), UNSIGNED)

    def truth(self, node: c_ast.Node, value: _Typed) -> ast.expr:
        """A condition: whether it is not 0."""
        if value.type == DOUBLE:
            return self.constant(node, value.number != 0)
        return self.at(node, ast.Call(ast.Name("bool", ast.Load()), [value.tree], []))

    def promoted(self, value: _Typed) -> _Typed:
        return _Typed(value.tree, INT) if value.type == BOOL else value

    def common(self, node: c_ast.Node, *values: _Typed) -> str:
        """The type to which C converts the operands of an operation."""
        kinds = {self.promoted(value).type for value in values}
        if DOUBLE in kinds:
            number = next(value.number for value in values if value.type == DOUBLE)
            raise self.fail(node, f"{number} is a double, and units have single precision: write "
                            f"{number}f")
        return next(kind for kind in (FLOAT, UNSIGNED, INT) if kind in kinds)

    def converted(self, node: c_ast.Node, value: _Typed, kind: str) -> ast.expr:
        if value.type == DOUBLE:
            return self.of_double(node, value.number, kind)
        if kind == BOOL and value.type != BOOL:
            return self.truth(node, value)
        source = self.promoted(value).type
        name = {(INT, FLOAT): "float32", (UNSIGNED, FLOAT): "utof", (FLOAT, INT): "int32",
                (FLOAT, UNSIGNED): "ftou"}.get((source, kind))
        return value.tree if name is None else self.call(node, name, value.tree)

    def of_double(self, node: c_ast.Node, number: float, kind: str) -> ast.expr:
        if kind == BOOL:
            return self.constant(node, number != 0)
        if kind == FLOAT and not math.isinf(number):
            return self.signed_zero(node, number, self.single(node, Fraction(number)).tree)
        if math.isinf(number):
            raise self.fail(node, "a constant is too large")
        low = 0 if kind == UNSIGNED else -1 << _BITS - 1
        high = (1 << _BITS - (kind == INT)) - 1
        if not low <= math.trunc(number) <= high:
            raise self.fail(node, f"{number} is no {kind}")
        return self.constant(node, wrapped(math.trunc(number)))

    def signed_zero(self, node: c_ast.Node, number: float, tree: ast.expr) -> ast.expr:
        return self.constant(node, -0.0) if math.copysign(1, number) < 0 and number == 0 else tree

    def unary(self, node: c_ast.UnaryOp) -> _Typed:
        if node.op in ("++", "--", "p++", "p--"):
            raise self.fail(node, f"{node.op[-2:]} in an expression cannot be mapped")
        if node.op in ("*", "&"):
            raise self.fail(node, "a pointer cannot be mapped; write array[index]")
        if node.op not in ("+", "-", "~", "!"):
            raise self.fail(node, f"{node.op} cannot be mapped")
        value = self.promoted(self.expression(node.expr))
        if node.op == "!":
            return _Typed(self.at(node, ast.UnaryOp(ast.Not(), self.truth(node, value))), INT)
        if value.type == DOUBLE:
            if node.op == "~":
                raise self.fail(node, "~ of a double")
            return _Typed(value.tree, DOUBLE, -value.number if node.op == "-" else value.number)
        if value.type == FLOAT:
            if node.op == "~":
                raise self.fail(node, "~ of a float")
            return value if node.op == "+" else _Typed(
                self.at(node, ast.UnaryOp(ast.USub(), value.tree)), FLOAT)
        zero = self.constant(node, 0 if node.op == "-" else -1)
        tree = value.tree if node.op == "+" else self.call(
            node, "sub" if node.op == "-" else "xor", zero, value.tree)
        return _Typed(tree, value.type)

    def binary(self, node: c_ast.Node, operator: str, left: _Typed, right: _Typed) -> _Typed:
        if operator in ("<<", ">>"):
            left, right = self.promoted(left), self.promoted(right)
            for side in (left, right):
                if side.type in (FLOAT, DOUBLE):
                    raise self.fail(node, f"{operator} of a {side.type}")
            name = "shl" if operator == "<<" else "sar" if left.type == INT else "shr"
            return _Typed(self.call(node, name, left.tree, right.tree), left.type)
        if operator in _ORDER and DOUBLE in (left.type, right.type):
            left, right = self.exact_single(node, left), self.exact_single(node, right)
        kind = self.common(node, left, right)
        one, two = self.converted(node, left, kind), self.converted(node, right, kind)
        if operator in _ORDER:
            return _Typed(self.compared(node, operator, one, two, kind), INT)
        if kind == FLOAT:
            if operator not in _FLOATS:
                raise self.fail(node, f"{operator} of a float")
            return _Typed(self.at(node, ast.BinOp(one, _FLOATS[operator](), two)), FLOAT)
        name = _RING.get(operator) or _DIVISION[operator, kind]
        return _Typed(self.call(node, name, one, two), kind)

    def exact_single(self, node: c_ast.Node, value: _Typed) -> _Typed:
        """A double that a float is compared with: the same, if it is a float's value."""
        if value.type == FLOAT:
            return value
        if value.type != DOUBLE:
            return _Typed(value.tree, value.type)
        if math.isinf(value.number):
            return value
        single = self.single(node, Fraction(value.number))
        if isinstance(single.tree, ast.Constant) and single.tree.value != value.number:
            return value  # `common` refuses it
        return single

    def compared(self, node: c_ast.Node, operator: str, left: ast.expr, right: ast.expr,
                 kind: str) -> ast.expr:
        if kind == UNSIGNED and operator not in ("==", "!="):
            if operator in (">", ">="):
                left, right = right, left
            return self.call(node, "ltu" if operator in ("<", ">") else "leu", left, right)
        return self.at(node, ast.Compare(left, [_ORDER[operator]()], [right]))

    def function_call(self, node: c_ast.FuncCall) -> _Typed:
        if not isinstance(node.name, c_ast.ID) or node.name.name in self.source.macros:
            raise self.fail(node, "a call of what is no function cannot be mapped")
        name, nodes = node.name.name, node.args.exprs if node.args else []
        if name == "get_global_id":
            if len(nodes) != 1 or not isinstance(nodes[0], c_ast.Constant) or (
                    nodes[0].value.rstrip("uU") != "0"):
                raise self.fail(node, "get_global_id has one operand, 0: threads have one "
                                "dimension")
            return self.thread(node)
        plain = name.removesuffix("f") if name.removesuffix("f") in _FLOATING else name
        if plain not in _FUNCTIONS:
            raise self.fail(node, f"function {name} cannot be mapped; there are get_global_id, "
                            f"{', '.join(_FUNCTIONS)}")
        wanted = {"fma": 3, **dict.fromkeys(("sqrt", "abs", "fabs", "rint", "round"), 1)}.get(
            plain, 2)
        if len(nodes) != wanted:
            raise self.fail(node, f"{name} has {wanted} operand{'s' * (wanted > 1)}, not "
                            f"{len(nodes)}")
        values = [self.expression(inner) for inner in nodes]
        if plain in ("min", "max"):
            return self.extreme(node, plain, values)
        if plain == "abs":
            if self.promoted(values[0]).type != INT:
                raise self.fail(node, "abs is for int")
            return _Typed(self.call(node, "iabs", values[0].tree), INT)
        if plain == name and any(value.type != FLOAT for value in values):
            raise self.fail(node, f"{name} is for floats, not {values[0].type}" if len(values) == 1
                            else f"{name} is for floats")
        arguments = [self.converted(node, value, FLOAT) for value in values]
        return _Typed(self.call(node, {"fabs": "abs"}.get(plain, plain), *arguments), FLOAT)

    def extreme(self, node: c_ast.Node, name: str, values: Sequence[_Typed]) -> _Typed:
        kind = self.common(node, *values)
        arguments = [self.converted(node, value, kind) for value in values]
        if kind == FLOAT:
            name = {"min": "lesser", "max": "greater"}[name]
        return _Typed(self.call(node, "u" * (kind == UNSIGNED) + name, *arguments), kind)


def _exact(digits: str) -> Fraction | None:
    """The exact value of a constant without its suffix; None if it would take too long."""
    mantissa, _, exponent = digits.partition("p" if "x" in digits else "e")
    if len(digits) > 1000 or len(exponent) > 5:
        return None
    if "x" not in mantissa:
        return Fraction(digits)
    whole, _, part = mantissa.removeprefix("0x").partition(".")
    return Fraction(int(whole + part, 16)) * Fraction(2) ** (int(exponent) - 4 * len(part))


def _double(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf


def _is_void(node: c_ast.Node) -> bool:
    """Whether a function returns void, or a type is void."""
    declared = getattr(node, "type", None)
    return isinstance(declared, c_ast.TypeDecl) and isinstance(
        declared.type, c_ast.IdentifierType) and declared.type.names == ["void"]


def _construct(node: c_ast.Node) -> str:
    """What a message calls a construct of C."""
    names = {c_ast.Goto: "goto", c_ast.Label: "a label", c_ast.Switch: "switch",
             c_ast.Break: "break", c_ast.Continue: "continue", c_ast.Return: "return of a value",
             c_ast.StructRef: "a member of a struct", c_ast.ExprList: "a comma in an expression",
             c_ast.Assignment: "an assignment in an expression", c_ast.Typedef: "typedef",
             c_ast.InitList: "a list of values", c_ast.CompoundLiteral: "a list of values",
             c_ast.Pragma: "a pragma", c_ast.StaticAssert: "static_assert",
             c_ast.Typename: "a type", c_ast.Case: "case", c_ast.Default: "default",
             c_ast.FuncDef: "a function in a function"}
    if isinstance(node, c_ast.UnaryOp) and node.op in ("*", "&"):
        return "a pointer"
    if isinstance(node, c_ast.UnaryOp) and node.op in ("sizeof", "_Alignof"):
        return node.op
    if isinstance(node, (c_ast.BinaryOp, c_ast.UnaryOp, c_ast.ID, c_ast.Constant, c_ast.TernaryOp,
                         c_ast.ArrayRef, c_ast.Cast)):
        return "an expression that does nothing"
    return names.get(type(node), type(node).__name__)


def c_kernels(text: str, file: str) -> dict[str, Kernel]:
    """The kernels of a text in C, OpenCL C or CUDA, by name.

    Functions that are marked (``__kernel``, ``kernel``, ``__global__``); all, if none is. Raises
    `KernelError` for what cannot be mapped, with line and column.
    """
    source = parsed(text, file)
    for part in source.tree.ext:
        if not isinstance(part, (c_ast.FuncDef, c_ast.Decl)):
            line, column = place_of(part)
            raise KernelError(file, line, "", f"{_construct(part)} cannot be mapped", column)
    found: dict[str, Kernel] = {}
    for function in _functions(source):
        name = function.decl.name
        if name in found:
            raise KernelError(file, place_of(function)[0], "", f"function {name} is there twice",
                              place_of(function)[1])
        if name in source.kernels:
            found[name] = _Translator(source, function).kernel()
    return found


def _functions(source: Source) -> Iterable[c_ast.FuncDef]:
    return [part for part in source.tree.ext if isinstance(part, c_ast.FuncDef)]
