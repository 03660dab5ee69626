//! Programs in memory.

use pinion_p4::library::Library;
use pinion_p4::preprocessor::Files;
use pinion_p4::{Checked, load};

/// A program in memory, with the library behind it.
pub struct Text<'t>(pub &'t str);

impl Files for Text<'_> {
    fn read(&self, name: &str, from: Option<&str>, own: bool) -> Result<(String, String), String> {
        match from {
            None => Ok((name.to_owned(), self.0.to_owned())),
            Some(_) if name == "self.p4" => Ok((name.to_owned(), self.0.to_owned())),
            Some(_) => Library.read(name, from, own),
        }
    }
}

/// Checks a text.
pub fn check(text: &str) -> Checked {
    load("test.p4", &Text(text)).expect("it is there")
}

/// The programs that Pinion comes with.
#[allow(dead_code)] // Not all tests look at them.
pub const SHIPPED: [&str; 10] = [
    "ndp/ingress",
    "ndp/egress",
    "raw/ingress",
    "raw/egress",
    "udp/ingress",
    "udp/egress",
    "dctcp/ingress",
    "dctcp/egress",
    "credit/ingress",
    "credit/egress",
];

/// What every program here begins with.
pub const HEAD: &str = r#"
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "ndp.p4"
"#;

/// A whole program, with these statements as its control's, after these declarations of the control.
pub fn program(locals: &str, apply: &str) -> String {
    let parameters = "inout full_ingress_metadata_t meta, inout standard_metadata_t smeta";
    format!(
        "{HEAD}
parser P(packet_in packet, out headers hdr, {parameters}) {{
    state start {{
        packet.extract(hdr.eth);
        transition select(hdr.eth.type) {{ IPV4_TYPE: ip; default: accept; }}
    }}
    state ip {{ packet.extract(hdr.ipv4); transition accept; }}
}}
control C(inout headers hdr, {parameters}) {{
    {locals}
    apply {{ {apply} }}
}}
control D(packet_out packet, in headers hdr, {parameters}) {{
    apply {{ packet.emit(hdr); }}
}}
XilinxPipeline(P(), C(), D()) main;
"
    )
}
