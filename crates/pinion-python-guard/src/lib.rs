//! Guards what Python calls. In: an implementation of PyO3's `#[pymethods]`. Out: the same, whose functions raise
//! `pinion.InternalError` where they would panic.
//!
//! PyO3 makes a panic an exception that is no `Exception`, and that says nothing of how to see it again. So every
//! function runs within `crate::errors::guarded`, with the command that makes its object and asks it the same once
//! more, by `crate::again::Made`. One that names `errors::attached`, `detached` or `caught` itself knows better what
//! was asked: what it does before and behind that is within `crate::errors::shielded`. A function without an object
//! is left as it is.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{FnArg, ImplItem, ImplItemFn, ItemImpl, Pat, ReturnType, Type, parse_macro_input};

/// Functions that guard their work themselves, with the command for just what was asked.
const GUARDS: [&str; 4] = ["attached", "detached", "detached_as", "caught"];

/// Guards every function of `#[pymethods]`, in front of which it stands.
#[proc_macro_attribute]
pub fn guarded(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut methods = parse_macro_input!(item as ItemImpl);
    for member in &mut methods.items {
        if let ImplItem::Fn(function) = member {
            guard(function);
        }
    }
    quote!(#methods).into()
}

fn guard(function: &mut ImplItemFn) {
    let Some(object) = object(function) else { return };
    let (returned, value) = match &function.sig.output {
        ReturnType::Default => (quote!(()), None),
        ReturnType::Type(_, given) => (quote!(#given), Some(given)),
    };
    let body = &function.block;
    let is_result = value.is_some_and(|given| is_result(given));
    let (returned, body) = match is_result {
        true => (returned, quote!(#body)),
        false => (quote!(::pyo3::PyResult<#returned>), quote!({ Ok(#body) })),
    };
    let (guard, asked) = match guards_itself(body.clone()) {
        true => (quote!(shielded), quote!("")),
        false => {
            let asked = asked(function);
            (quote!(guarded), quote!(&#asked))
        }
    };
    let guarded = quote!({
        let again = move || crate::again::Made::again(#object, #asked);
        crate::errors::#guard(again, move || -> #returned #body)
    });
    function.sig.output = syn::parse_quote!(-> #returned);
    function.block = syn::parse_quote!(#guarded);
}

/// Gives what reaches the object that a function is asked of.
fn object(function: &ImplItemFn) -> Option<Tokens> {
    match function.sig.inputs.first()? {
        FnArg::Receiver(_) => Some(quote!(self)),
        FnArg::Typed(first) => match &*first.pat {
            Pat::Ident(name) if name.ident == "slf" => Some(quote!(slf.get())),
            _ => None,
        },
    }
}

fn is_result(given: &Type) -> bool {
    let Type::Path(path) = given else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "PyResult")
}

fn guards_itself(body: Tokens) -> bool {
    body.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(word) => GUARDS.iter().any(|guard| word == guard),
        proc_macro2::TokenTree::Group(group) => guards_itself(group.stream()),
        _ => false,
    })
}

/// Gives what writes, in Python, what is asked of the object: `.name`, or `.name(…)` with what was given.
fn asked(function: &ImplItemFn) -> Tokens {
    let name = function.sig.ident.to_string();
    if function.attrs.iter().any(|attribute| attribute.path().is_ident("getter")) {
        return quote!(format!(".{}", #name));
    }
    let given = function.sig.inputs.iter().skip(1).filter_map(|given| match given {
        FnArg::Typed(given) => Some(&given.pat).filter(|_| !is_interpreter(&given.ty)),
        FnArg::Receiver(_) => None,
    });
    quote!(format!(".{}({})", #name, {
        let given: Vec<String> = vec![#(crate::again::Given::in_python(&#given)),*];
        given.join(", ")
    }))
}

fn is_interpreter(given: &Type) -> bool {
    let Type::Path(path) = given else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Python")
}
