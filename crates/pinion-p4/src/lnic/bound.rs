//! Units as a place of a program asks them. In: a unit, whose fields are those of a request and an answer. Out: the
//! same with the registers in which these fields stand.

use super::pending::Current;
use super::unit::{Answer, Lookup, Place, Unit};
use crate::flat::{Flat, Register, Site};

/// Gives, by site of a program, its unit as it is asked there.
pub(super) fn at_sites(units: &[Unit], flat: &Flat) -> Vec<Unit> {
    flat.sites.iter().map(|site| units[site.external].at(site, flat.zero)).collect()
}

impl Unit {
    /// Gives the unit as one place of a program asks it: fields are numbers of registers there. Of what the unit
    /// knows itself there is none; a field that the program's type lacks reads 0.
    #[must_use]
    pub fn at(&self, site: &Site, zero: Register) -> Self {
        let mut unit = self.clone();
        let own = self.own_fields();
        let packet = match self {
            Self::Control { fields, .. } => fields.pkt_offset,
            _ => None,
        };
        // What is kept of a message has nothing that the program's type lacks.
        let may_lack = !matches!(self, Self::Current(_));
        let knows_all = own
            .iter()
            .filter(|(place, _)| place.is_none() || *place != packet)
            .all(|(place, _)| place.map_or(may_lack, |at| site.request[at].is_none()));
        if let Self::Lookup(Lookup { is_known, .. })
        | Self::Control { fields: Answer { is_known, .. }, .. }
        | Self::Current(Current { is_known, .. }) = &mut unit
        {
            *is_known = knows_all;
        }
        let lacking = (!own.is_empty()).then_some(usize::from(zero));
        let (request, response) = unit.fields_mut();
        for field in request {
            *field = match *field {
                Some(at) => site.request[at].map(usize::from),
                None => lacking,
            };
        }
        for field in response {
            *field = field.and_then(|at| site.response[at]).map(usize::from);
        }
        unit
    }

    /// Lists all fields of its request and of its answer, for a kind always in the same order.
    pub fn fields(&self) -> (Vec<Place>, Vec<Place>) {
        let mut unit = self.clone();
        let (request, response) = unit.fields_mut();
        (request.into_iter().map(|it| *it).collect(), response.into_iter().map(|it| *it).collect())
    }

    /// Lists which of its request's fields the packet at hand may say itself, by their numbers in that order.
    pub fn own_positions(&self) -> Vec<usize> {
        let mut unit = self.clone();
        unit.fields_mut().0.into_iter().zip(0..).for_each(|(field, at)| *field = Some(at));
        unit.own_fields().into_iter().filter_map(|(place, _)| place).collect()
    }

    /// Lists all fields of its request and of its answer.
    fn fields_mut(&mut self) -> (Vec<&mut Place>, Vec<&mut Place>) {
        match self {
            Self::Lookup(of) => (
                vec![
                    &mut of.mark_received,
                    &mut of.src_ip,
                    &mut of.src_context,
                    &mut of.tx_msg_id,
                    &mut of.msg_len,
                    &mut of.pkt_offset,
                    &mut of.dst_context,
                    &mut of.generation,
                ],
                vec![
                    &mut of.fail,
                    &mut of.rx_msg_id,
                    &mut of.is_new_msg,
                    &mut of.is_new_pkt,
                    &mut of.is_last_pkt,
                    &mut of.ack_no,
                    &mut of.is_finished_msg,
                    &mut of.has_no_buffer,
                ],
            ),
            Self::Delivered(of) => {
                (vec![&mut of.tx_msg_id, &mut of.delivered_pkts, &mut of.generation], Vec::new())
            }
            Self::Credit(of) => (
                vec![
                    &mut of.tx_msg_id,
                    &mut of.rtx,
                    &mut of.rtx_pkt_offset,
                    &mut of.update_credit,
                    &mut of.new_credit,
                ],
                Vec::new(),
            ),
            Self::Control { fields: of, .. } => (
                vec![
                    &mut of.dst_ip,
                    &mut of.dst_context,
                    &mut of.src_context,
                    &mut of.msg_len,
                    &mut of.pkt_offset,
                    &mut of.tx_msg_id,
                    &mut of.buf_ptr,
                    &mut of.buf_size_class,
                    &mut of.credit,
                    &mut of.rank,
                    &mut of.flags,
                    &mut of.generation,
                ],
                Vec::new(),
            ),
            Self::Array(of) => {
                let mut fields = vec![&mut of.index, &mut of.predicate];
                fields.extend(of.data.iter_mut().chain(&mut of.opcode));
                (fields, vec![&mut of.answer])
            }
            Self::Sum(of) => (vec![&mut of.from, &mut of.length], vec![&mut of.answer]),
            Self::Current(of) => of.fields_mut(),
            Self::Order(of) => of.fields_mut(),
            Self::Granted(of) => {
                (vec![&mut of.index, &mut of.granted], of.kept.iter_mut().collect())
            }
            Self::Priority(of) => {
                (vec![&mut of.index, &mut of.update, &mut of.priority], vec![&mut of.answer])
            }
            Self::Delay { given, answer } => (vec![given], vec![answer]),
            Self::Start(of) => (vec![&mut of.timer, &mut of.cycles, &mut of.cancel], Vec::new()),
            // It knows its fields by their order.
            Self::Table(_) => (Vec::new(), Vec::new()),
        }
    }
}
