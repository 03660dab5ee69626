//! A program as it is written: the tree that the parser makes. Names are only names here; what they
//! mean, and which types fit, is found out in [`check`](crate::check).

use std::sync::Arc;

use crate::source::Span;

/// A name that is written somewhere.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// A type that is written somewhere.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// Which.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// Names the types that can be written.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `bool`.
    Bool,
    /// `bit<N>`; without N it is `bit<1>`.
    Bit(Option<Box<Expr>>),
    /// A name, and types for its parameters.
    Named(Name, Vec<TypeRef>),
    /// `void`, of methods.
    Void,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// Names the expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number, with its width if one is written.
    Number {
        /// The number.
        value: u128,
        /// Its width in bits.
        width: Option<u32>,
    },
    /// `true` or `false`.
    Bool(bool),
    /// A name.
    Name(Arc<str>),
    /// A member: `hdr.eth`.
    Member(Box<Expr>, Name),
    /// Bits of a value: `x[9:0]`.
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// An operator of one operand.
    Unary(&'static str, Box<Expr>),
    /// An operator of two, with its place.
    Binary(&'static str, Span, Box<Expr>, Box<Expr>),
    /// `condition ? one : other`.
    Choice(Box<[Expr; 3]>),
    /// `(bit<8>) x`.
    Cast(Box<TypeRef>, Box<Expr>),
    /// A call: `hdr.eth.isValid()`.
    Call(Box<Expr>, Vec<Expr>),
    /// Values in braces.
    List(Vec<Expr>),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

/// Names the statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// Statements in braces.
    Block(Vec<Statement>),
    /// A variable or constant.
    Variable(Variable),
    /// An extern object: `UserExtern<A, B>(2) name;`.
    Instance(Instance),
    /// `place = value;`.
    Assign(Expr, Expr),
    /// A call.
    Call(Expr),
    /// `if (condition) … else …`.
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    /// An action of tables.
    Action(Action),
    /// A match-action table.
    Table(Table),
    /// `exit;` or `return;`: the block ends here.
    Exit,
    /// `;` alone.
    Empty,
}

/// A declaration of a variable or constant.
#[derive(Clone, Debug)]
pub struct Variable {
    /// It is a constant.
    pub constant: bool,
    /// Its type.
    pub ty: TypeRef,
    /// Its name.
    pub name: Name,
    /// Its first value.
    pub value: Option<Expr>,
}

/// A declaration of an object.
#[derive(Clone, Debug)]
pub struct Instance {
    /// What is made.
    pub ty: TypeRef,
    /// What it is made with.
    pub arguments: Vec<Expr>,
    /// Its name.
    pub name: Name,
}

/// A declaration of an action.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its name.
    pub name: Name,
    /// What entries give.
    pub parameters: Vec<Parameter>,
    /// What it does.
    pub body: Vec<Statement>,
}

/// A value that a table compares.
#[derive(Clone, Debug)]
pub struct TableKey {
    /// The value.
    pub value: Expr,
    /// How: `exact`, `lpm` or `ternary`.
    pub kind: Name,
}

/// A declaration of a match-action table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: Name,
    /// What it compares.
    pub keys: Vec<TableKey>,
    /// What entries may do.
    pub actions: Vec<Name>,
    /// How many entries there may be.
    pub size: Option<Expr>,
    /// What is done where no entry fits, with arguments.
    pub default: Option<(Name, Vec<Expr>)>,
}

/// A field of a struct or header.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its type.
    pub ty: TypeRef,
    /// Its name.
    pub name: Name,
    /// It need not be set (`@optional`); then it is zero.
    pub optional: bool,
}

/// Tells which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It says none.
    None,
    /// It is read.
    In,
    /// It is written.
    Out,
    /// Both.
    InOut,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Which way it goes.
    pub direction: Direction,
    /// Its type.
    pub ty: TypeRef,
    /// Its name.
    pub name: Name,
}

/// What a parser, control, or type of such takes.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its name.
    pub name: Name,
    /// Its type parameters, of types of such.
    pub types: Vec<Name>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A declaration of the program's outermost level.
#[derive(Clone, Debug)]
pub enum Declaration {
    /// A constant.
    Constant(Variable),
    /// Another name for a type.
    Typedef(TypeRef, Name),
    /// A struct, or a header.
    Struct {
        /// It is a header.
        header: bool,
        /// Its name.
        name: Name,
        /// Its fields.
        fields: Vec<Field>,
    },
    /// A kind of extern objects: name, type parameters, methods.
    Extern(Name, Vec<Name>, Vec<Head>),
    /// What parsers of an architecture take.
    ParserType(Head),
    /// What controls of an architecture take.
    ControlType(Head),
    /// What an architecture is made of.
    Package(Head),
    /// A parser.
    Parser(Head, Vec<Statement>, Vec<State>),
    /// A control: what it declares, and what it does.
    Control(Head, Vec<Statement>, Option<Vec<Statement>>),
    /// An object, such as `main`.
    Instance(Instance),
}

/// A state of a parser.
#[derive(Clone, Debug)]
pub struct State {
    /// Its name.
    pub name: Name,
    /// What it does.
    pub body: Vec<Statement>,
    /// Where it goes; to `reject` if it does not say.
    pub transition: Option<Transition>,
}

/// Says where a state goes.
#[derive(Clone, Debug)]
pub enum Transition {
    /// Always to the same one.
    To(Name),
    /// By values.
    Select {
        /// The values.
        on: Vec<Expr>,
        /// What they may be.
        cases: Vec<Case>,
        /// Where `select` stands.
        span: Span,
    },
}

/// A case of a `select`.
#[derive(Clone, Debug)]
pub struct Case {
    /// A key for each value.
    pub keys: Vec<Key>,
    /// Where it goes.
    pub to: Name,
    /// Where it stands.
    pub span: Span,
}

/// What a value is compared with.
#[derive(Clone, Debug)]
pub enum Key {
    /// `default` or `_`.
    Any,
    /// A value.
    Value(Expr),
    /// `value &&& mask`.
    Mask(Expr, Expr),
    /// `first .. last`.
    Range(Expr, Expr),
}
