//! Rows as Parquet, for programs that read columns: pandas, DuckDB, Spark.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{ResultColumn, Values};
use super::file::FileRow;

/// Writes the rows, without samples, as Parquet: the columns of the CSV, uncompressed, in one row
/// group.
///
/// Text is a UTF-8 string, whole numbers are unsigned (64 bits), and other numbers are doubles. An
/// absent value is null.
pub fn write_parquet<R: FileRow>(out: &mut (impl Write + Send), rows: &[R]) -> io::Result<()> {
    let columns = R::columns();
    let schema = Arc::new(parse_message_type(&message(&columns))?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::default())?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        let mut writer = group.next_column()?.expect("the schema has the same columns");
        match &column.values {
            Values::Text(find) => {
                let texts =
                    rows.iter().map(|row| find(row).map(|t| ByteArray::from(t.into_bytes())));
                fill::<ByteArrayType>(&mut writer, texts)?;
            }
            Values::Integer(find) => {
                // The schema declares the bits as an unsigned number.
                let numbers = rows.iter().map(|row| find(row).map(u64::cast_signed));
                fill::<Int64Type>(&mut writer, numbers)?;
            }
            Values::Number(find) => fill::<DoubleType>(&mut writer, rows.iter().map(find))?,
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// Returns the schema in Parquet's own language.
fn message<R>(columns: &[ResultColumn<R>]) -> String {
    let fields = columns.iter().map(|ResultColumn { name, values }| match values {
        Values::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING);"),
        Values::Integer(_) => format!("OPTIONAL INT64 {name} (INTEGER(64,false));"),
        Values::Number(_) => format!("OPTIONAL DOUBLE {name};"),
    });
    format!("message rows {{ {} }}", fields.collect::<Vec<_>>().join(" "))
}

fn fill<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let values: Vec<_> = values.collect();
    let present: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<_> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&present), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::results::NetworkRow;
    use crate::results::example::{samples, setting};

    #[test]
    fn every_column_reads_back() {
        let mut row = NetworkRow::from_samples(setting(), samples());
        row.setting.seed = u64::MAX;
        let mut bytes = Vec::new();
        write_parquet(&mut bytes, &[row.clone(), row]).expect("writing to memory");
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("just written");
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").collect();
        assert_eq!(rows.len(), 2);
        for row in rows {
            let row = row.expect("a row");
            let field = |wanted: &str| {
                row.get_column_iter().find(|(name, _)| *name == wanted).expect(wanted).1.clone()
            };
            assert_eq!(row.len(), NetworkRow::columns().len());
            assert_eq!(field("scheme"), Field::Str("skdc".to_owned()));
            assert_eq!(field("seed"), Field::ULong(u64::MAX));
            assert_eq!(field("mean_ms"), Field::Double(15.0));
        }
    }

    #[test]
    fn no_rows_are_a_file_too() {
        let mut bytes = Vec::new();
        write_parquet::<NetworkRow>(&mut bytes, &[]).expect("writing to memory");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
}
