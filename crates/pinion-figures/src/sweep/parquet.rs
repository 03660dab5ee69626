//! A table as Parquet. In: columns of integers, numbers or texts, some of them missing; at once, or a piece
//! of the rows after the other. Out: the bytes of a file with a row group for each piece.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
pub use ::parquet::errors::ParquetError;
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};

/// Names what wrote the file.
const CREATOR: &str = "pinion";

/// A column with a cell for each row.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Its cells.
    pub data: Data,
}

/// Holds a column's cells.
#[derive(Clone, Debug)]
pub enum Data {
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// Numbers of any kind.
    Numbers(Vec<Option<f64>>),
    /// Whether something is so.
    Truths(Vec<Option<bool>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Data {
    /// Gives a cell as text, empty where there is nothing.
    pub fn text(&self, row: usize) -> String {
        let text = match self {
            Self::Integers(cells) => cells[row].map(|number| number.to_string()),
            Self::Numbers(cells) => cells[row].map(|number| number.to_string()),
            Self::Truths(cells) => cells[row].map(|truth| truth.to_string()),
            Self::Texts(cells) => cells[row].clone(),
        };
        text.unwrap_or_default()
    }
}

impl Column {
    fn schema(&self) -> Result<TypePtr> {
        let (physical, logical) = match self.data {
            Data::Integers(_) => (Physical::INT64, None),
            Data::Numbers(_) => (Physical::DOUBLE, None),
            Data::Truths(_) => (Physical::BOOLEAN, None),
            Data::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let leaf = Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        Ok(Arc::new(leaf.build()?))
    }
}

/// Writes a file.
pub(super) fn write(columns: &[Column]) -> Vec<u8> {
    into_memory(columns).expect("memory takes everything, and every column has the same rows")
}

fn into_memory(columns: &[Column]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut pieces = Pieces::begin(&mut bytes, "sweep", columns)?;
    pieces.write(columns)?;
    pieces.finish()?;
    Ok(bytes)
}

/// A file that is written in pieces: no more than one is held.
pub struct Pieces<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Pieces<W> {
    /// Begins a file whose pieces have columns of these names and kinds.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(out: W, name: &str, columns: &[Column]) -> Result<Self> {
        let fields = columns.iter().map(Column::schema).collect::<Result<_>>()?;
        let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_created_by(CREATOR.to_owned()).build();
        Ok(Self(SerializedFileWriter::new(out, schema, Arc::new(properties))?))
    }

    /// Writes rows.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, columns: &[Column]) -> Result<()> {
        let mut group = self.0.next_row_group()?;
        for column in columns {
            match &column.data {
                Data::Integers(cells) => fill::<Int64Type, _, W>(&mut group, cells, |cell| *cell),
                Data::Numbers(cells) => fill::<DoubleType, _, W>(&mut group, cells, |cell| *cell),
                Data::Truths(cells) => fill::<BoolType, _, W>(&mut group, cells, |cell| *cell),
                Data::Texts(cells) => fill::<ByteArrayType, _, W>(&mut group, cells, |text| {
                    ByteArray::from(text.as_str())
                }),
            }?;
        }
        group.close().map(drop)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<()> {
        self.0.close().map(drop)
    }
}

type Group<'a, W> = ::parquet::file::writer::SerializedRowGroupWriter<'a, W>;

/// Writes a column: which cells are there, and those.
fn fill<T: DataType, C, W: Write + Send>(
    group: &mut Group<'_, W>,
    cells: &[Option<C>],
    convert: impl Fn(&C) -> T::T,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.iter().flatten().map(convert).collect();
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn a_file_gives_back_what_was_written() {
        let texts = [None, Some(""), Some("ü")].map(|text| text.map(str::to_owned));
        let columns = [
            Column { name: "a.b".to_owned(), data: Data::Integers(vec![Some(1), None, Some(-3)]) },
            Column { name: "x".to_owned(), data: Data::Numbers(vec![Some(0.5), Some(0.25), None]) },
            Column { name: "é".to_owned(), data: Data::Texts(texts.to_vec()) },
        ];
        let file = SerializedFileReader::new(bytes::Bytes::from(write(&columns))).unwrap();
        let rows: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let expected = [
            r#"{a.b: 1, x: 0.5, é: null}"#,
            r#"{a.b: null, x: 0.25, é: ""}"#,
            r#"{a.b: -3, x: null, é: "ü"}"#,
        ];
        assert_eq!(rows, expected);
        assert_eq!(file.metadata().file_metadata().created_by(), Some(CREATOR));
    }

    #[test]
    fn a_file_in_pieces_has_the_rows_of_all() {
        let piece = |from: i64| {
            let cells = (from..from + 3).map(Some).collect();
            let truths = vec![Some(from > 0), None, Some(true)];
            [
                Column { name: "n".to_owned(), data: Data::Integers(cells) },
                Column { name: "t".to_owned(), data: Data::Truths(truths) },
            ]
        };
        let mut bytes = Vec::new();
        let mut pieces = Pieces::begin(&mut bytes, "packets", &piece(0)).unwrap();
        for from in [0, 3] {
            pieces.write(&piece(from)).unwrap();
        }
        pieces.finish().unwrap();
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        assert_eq!(file.num_row_groups(), 2);
        let rows: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!((rows.len(), &*rows[3], &*rows[4]), (6, "{n: 3, t: true}", "{n: 4, t: null}"));
    }

    #[test]
    fn a_table_without_columns_is_a_file_too() {
        assert_eq!(write(&[])[..4], *b"PAR1");
    }
}
