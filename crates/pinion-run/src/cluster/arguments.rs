//! Arguments of a cluster's programs: text with placeholders in braces comes in, text with numbers
//! goes out. `{server}` is the address of that group's first node, `{server.3}` of its fourth,
//! `{server.count}` how many there are; `{index}`, `{node}`, `{nodes}`, `{address}` and `{seed}` are
//! about the node itself and the cluster. Numbers are written in decimal, addresses that end in
//! `:dotted` in four parts: `{address:dotted}`, `{server.3:dotted}`.

use std::net::Ipv4Addr;

/// Holds what placeholders stand for at one node.
pub(super) struct Facts<'a> {
    /// All groups: name, number of the first node, number of nodes.
    pub groups: &'a [(String, usize, usize)],
    /// The number within its group.
    pub index: usize,
    /// The number within the cluster.
    pub node: usize,
    /// Number of the cluster's nodes.
    pub nodes: usize,
    /// The cluster's seed.
    pub seed: u64,
}

/// The address of node 0 (RTL plusarg nic_ip_addr of the published runs): 10.0.0.2.
const FIRST_ADDRESS: u32 = 0x0a00_0002;

/// Gives a node's IPv4 address.
pub(super) fn address(node: usize) -> u32 {
    FIRST_ADDRESS + node as u32
}

/// Replaces the placeholders of an argument.
///
/// # Errors
/// What is wrong with one, and what there is.
pub(super) fn fill(argument: &str, facts: &Facts<'_>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = argument;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(format!("`{argument}`: a brace is not closed"));
        };
        filled.push_str(before);
        filled.push_str(&written(name, facts)?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// What a placeholder stands for.
enum Value {
    Number(u64),
    Address(Ipv4Addr),
}

/// Writes what a placeholder stands for, in its form.
fn written(placeholder: &str, facts: &Facts<'_>) -> Result<String, String> {
    let (name, form) = match placeholder.split_once(':') {
        Some((name, form)) => (name, Some(form)),
        None => (placeholder, None),
    };
    match (value(name, facts)?, form) {
        (Value::Number(number), None) => Ok(number.to_string()),
        (Value::Address(address), None) => Ok(address.to_bits().to_string()),
        (Value::Address(address), Some("dotted")) => Ok(address.to_string()),
        (Value::Number(_), Some("dotted")) => {
            Err(format!("{{{placeholder}}}: `{name}` is no address"))
        }
        (_, Some(form)) => Err(format!(
            "{{{placeholder}}}: there is no form `{form}`; write {{{name}}}, or {{{name}:dotted}} \
             for an address as in 10.0.0.2"
        )),
    }
}

fn value(name: &str, facts: &Facts<'_>) -> Result<Value, String> {
    Ok(match name {
        "index" => Value::Number(facts.index as u64),
        "node" => Value::Number(facts.node as u64),
        "nodes" => Value::Number(facts.nodes as u64),
        "address" => Value::Address(Ipv4Addr::from_bits(address(facts.node))),
        "seed" => Value::Number(facts.seed),
        _ => return of_group(name, facts),
    })
}

fn of_group(name: &str, facts: &Facts<'_>) -> Result<Value, String> {
    let (group, what) = name.split_once('.').unwrap_or((name, "0"));
    let Some((_, first, count)) = facts.groups.iter().find(|(known, ..)| known == group) else {
        let names: Vec<&str> = facts.groups.iter().map(|(name, ..)| name.as_str()).collect();
        return Err(format!(
            "{{{name}}}: there is no group `{group}`; there are {}, and index, node, nodes, address, \
             seed",
            names.join(", ")
        ));
    };
    if what == "count" {
        return Ok(Value::Number(*count as u64));
    }
    match what.parse::<usize>() {
        Ok(index) if index < *count => {
            Ok(Value::Address(Ipv4Addr::from_bits(address(first + index))))
        }
        Ok(_) => Err(format!("{{{name}}}: group `{group}` has {count} nodes, from 0")),
        Err(_) => Err(format!("{{{name}}}: write {{{group}}}, {{{group}.0}} or {{{group}.count}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_numbers() {
        let groups = [("server".to_owned(), 0, 1), ("client".to_owned(), 1, 80)];
        let facts = Facts { groups: &groups, index: 3, node: 4, nodes: 81, seed: 7 };
        for (argument, expected) in [
            ("{server}", "167772162"),
            ("{client.2}", "167772165"),
            ("to={server},n={client.count}", "to=167772162,n=80"),
            ("{index}/{node}/{nodes}/{seed}", "3/4/81/7"),
            ("{address}", "167772166"),
            ("{address:dotted}", "10.0.0.6"),
            ("{server:dotted} {client.2:dotted}", "10.0.0.2 10.0.0.5"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill(argument, &facts).as_deref(), Ok(expected));
        }
        for (argument, part) in [
            ("{serve}", "there is no group `serve`"),
            ("{client.80}", "has 80 nodes"),
            ("{client.x}", "write {client}"),
            ("{server", "not closed"),
            ("{node:dotted}", "no address"),
            ("{client.count:dotted}", "no address"),
            ("{address:hex}", "{address:dotted}"),
        ] {
            let problem = fill(argument, &facts).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
