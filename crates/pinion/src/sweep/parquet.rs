//! A table as Parquet. In: columns of integers, numbers or texts, some of them missing. Out: the
//! bytes of a file with one row group, a page for each column, plainly encoded, not compressed.
//!
//! A sweep's table is small and flat, and that much of the format (Apache Parquet: `parquet.thrift`,
//! `Encodings.md`, and Thrift's compact protocol) takes fewer lines than the crates that know all of
//! it have dependencies.

/// Begins and ends a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Names what wrote the file.
const CREATOR: &str = "pinion";

// Enumerations of parquet.thrift.
const TYPE_INT64: i32 = 2;
const TYPE_DOUBLE: i32 = 5;
const TYPE_BYTE_ARRAY: i32 = 6;
const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const UNCOMPRESSED: i32 = 0;
const DATA_PAGE: i32 = 0;

/// Is a column with a cell for each row.
pub(super) struct Column {
    pub name: String,
    pub data: Data,
}

/// Holds a column's cells.
pub(super) enum Data {
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

impl Data {
    /// Gives a cell as text, empty where there is nothing.
    pub fn text(&self, row: usize) -> String {
        let text = match self {
            Self::Integers(cells) => cells[row].map(|number| number.to_string()),
            Self::Numbers(cells) => cells[row].map(|number| number.to_string()),
            Self::Texts(cells) => cells[row].clone(),
        };
        text.unwrap_or_default()
    }

    fn kind(&self) -> i32 {
        match self {
            Self::Integers(_) => TYPE_INT64,
            Self::Numbers(_) => TYPE_DOUBLE,
            Self::Texts(_) => TYPE_BYTE_ARRAY,
        }
    }

    /// Gives a page's body: which cells are there, then those.
    fn page(&self) -> Vec<u8> {
        let (present, plain): (Vec<bool>, Vec<u8>) = match self {
            Self::Integers(cells) => encode(cells, |number| number.to_le_bytes().to_vec()),
            Self::Numbers(cells) => encode(cells, |number| number.to_le_bytes().to_vec()),
            Self::Texts(cells) => encode(cells, |text| {
                let length = (text.len() as u32).to_le_bytes();
                length.into_iter().chain(text.bytes()).collect()
            }),
        };
        let levels = levels(&present);
        let length = (levels.len() as u32).to_le_bytes();
        length.into_iter().chain(levels).chain(plain).collect()
    }
}

fn encode<T>(cells: &[Option<T>], plain: impl Fn(&T) -> Vec<u8>) -> (Vec<bool>, Vec<u8>) {
    let present = cells.iter().map(Option::is_some).collect();
    (present, cells.iter().flatten().flat_map(plain).collect())
}

/// Encodes definition levels as runs: a count, then the level all in the run have.
fn levels(present: &[bool]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in present.chunk_by(|a, b| a == b) {
        varint(&mut bytes, (run.len() as u64) << 1);
        bytes.push(u8::from(run[0]));
    }
    bytes
}

/// Writes a file.
pub(super) fn write(columns: &[Column], rows: usize) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let mut chunks = Vec::new();
    for column in columns {
        let (offset, page) = (file.len(), column.data.page());
        file.extend(page_header(page.len(), rows));
        file.extend(page);
        chunks.push((column, offset, file.len() - offset));
    }
    let footer = footer(&chunks, rows);
    let length = footer.len() as u32;
    file.extend(footer);
    file.extend(length.to_le_bytes());
    file.extend(MAGIC);
    file
}

fn page_header(bytes: usize, rows: usize) -> Vec<u8> {
    let mut header = Struct::default();
    header.i32(1, DATA_PAGE).i32(2, bytes as i32).i32(3, bytes as i32);
    let mut page = Struct::default();
    page.i32(1, rows as i32).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
    header.structure(5, page);
    header.end()
}

/// Writes what describes the file: schema, and where each column lies.
fn footer(chunks: &[(&Column, usize, usize)], rows: usize) -> Vec<u8> {
    let mut root = Struct::default();
    root.binary(4, "sweep").i32(5, chunks.len() as i32);
    let leaf = |(column, _, _): &(&Column, usize, usize)| {
        let mut leaf = Struct::default();
        leaf.i32(1, column.data.kind()).i32(3, OPTIONAL).binary(4, &column.name);
        if column.data.kind() == TYPE_BYTE_ARRAY {
            leaf.i32(6, UTF8);
        }
        leaf.end()
    };
    let schema = std::iter::once(root.end()).chain(chunks.iter().map(leaf)).collect::<Vec<_>>();
    let chunk = |(column, offset, bytes): &(&Column, usize, usize)| {
        let mut meta = Struct::default();
        let encodings = [PLAIN, RLE].map(|encoding| zigzagged(encoding.into()));
        meta.i32(1, column.data.kind()).list(2, Kind::I32, &encodings);
        meta.list(3, Kind::Binary, &[counted(&column.name)]).i32(4, UNCOMPRESSED);
        meta.i64(5, rows).i64(6, *bytes).i64(7, *bytes).i64(9, *offset);
        let mut chunk = Struct::default();
        chunk.i64(2, *offset).structure(3, meta);
        chunk.end()
    };
    let mut group = Struct::default();
    let bytes: usize = chunks.iter().map(|(_, _, bytes)| bytes).sum();
    group.list(1, Kind::Struct, &chunks.iter().map(chunk).collect::<Vec<_>>());
    group.i64(2, bytes).i64(3, rows);
    let mut file = Struct::default();
    file.i32(1, 1).list(2, Kind::Struct, &schema).i64(3, rows);
    file.list(4, Kind::Struct, &[group.end()]).binary(6, CREATOR);
    file.end()
}

/// Names the types of Thrift's compact protocol that are used here.
#[derive(Clone, Copy)]
enum Kind {
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Struct = 12,
}

/// Writes a structure in Thrift's compact protocol: fields by rising numbers, then a zero.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(&mut self, number: u8, kind: Kind, value: &[u8]) -> &mut Self {
        self.bytes.push((number - self.last) << 4 | kind as u8);
        self.bytes.extend(value);
        self.last = number;
        self
    }

    fn i32(&mut self, number: u8, value: i32) -> &mut Self {
        self.field(number, Kind::I32, &zigzagged(value.into()))
    }

    fn i64(&mut self, number: u8, value: usize) -> &mut Self {
        self.field(number, Kind::I64, &zigzagged(value as i64))
    }

    fn binary(&mut self, number: u8, text: &str) -> &mut Self {
        self.field(number, Kind::Binary, &counted(text))
    }

    fn structure(&mut self, number: u8, inner: Self) -> &mut Self {
        self.field(number, Kind::Struct, &inner.end())
    }

    fn list(&mut self, number: u8, kind: Kind, items: &[Vec<u8>]) -> &mut Self {
        let mut bytes = match items.len() {
            short @ 0..15 => vec![(short as u8) << 4 | kind as u8],
            _ => vec![0xf0 | kind as u8],
        };
        if items.len() >= 15 {
            varint(&mut bytes, items.len() as u64);
        }
        bytes.extend(items.iter().flatten());
        self.field(number, Kind::List, &bytes)
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// Writes a text behind the number of its bytes.
fn counted(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, text.len() as u64);
    bytes.extend(text.bytes());
    bytes
}

fn zigzagged(number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, ((number << 1) ^ (number >> 63)) as u64);
    bytes
}

/// Writes a number seven bits at a time, the lowest first.
fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as Apache Arrow 26 reads it (`pyarrow.parquet.read_table`): columns `a.b` 1, null,
    /// −3; `x` 0.5, 0.5, null; `é` null, "", "ü".
    const FILE: &str = "
        504152311500153415342c15061500150615060000060000000201020002010100000000000000fdffffffff
        ffffff1500153015302c150615001506150600000400000004010200000000000000e03f000000000000e03f
        1500152415242c1506150015061506000004000000020004010000000002000000c3bc1502194c4805737765
        6570150600150425021803612e6200150a250218017800150c25021802c3a92500001606191c193c26081c15
        0419250006191803612e62150016061656165626080000265e1c150a19250006191801781500160616521652
        265e000026b0011c150c19250006191802c3a9150016061646164626b001000016ee01160600280670696e69
        6f6e009000000050415231
    ";

    #[test]
    fn a_file_is_what_others_read() {
        let texts = [None, Some(""), Some("ü")].map(|text| text.map(str::to_owned));
        let columns = [
            Column { name: "a.b".to_owned(), data: Data::Integers(vec![Some(1), None, Some(-3)]) },
            Column { name: "x".to_owned(), data: Data::Numbers(vec![Some(0.5), Some(0.5), None]) },
            Column { name: "é".to_owned(), data: Data::Texts(texts.to_vec()) },
        ];
        let file = write(&columns, 3);
        let hex: String = file.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, FILE.split_whitespace().collect::<String>());
    }

    #[test]
    fn long_lists_and_numbers_have_their_form() {
        let mut list = Struct::default();
        list.list(1, Kind::I32, &vec![zigzagged(-1); 15]);
        assert_eq!(list.end()[..4], [0x19, 0xf5, 15, 1]);
        assert_eq!(zigzagged(-2), [3]);
        assert_eq!(zigzagged(300), [0xd8, 0x04]);
        assert_eq!(levels(&[true, true, false]), [4, 1, 2, 0]);
        assert_eq!(write(&[], 0)[..4], *MAGIC);
    }
}
