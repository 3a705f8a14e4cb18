//! LOLWUT: a row of jars, as different as potters made them.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use crate::redis::{DOLIUM_VERSION, REDIS_VERSION};

const JARS: usize = 5;
const JAR_COLUMNS: usize = 14;

pub fn lolwut(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    check(call)?;
    let mut seed = ctx.host.random();
    let jars: Vec<Vec<String>> = (0..JARS)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            jar(seed >> 33)
        })
        .collect();
    let height = jars.iter().map(Vec::len).max().unwrap_or_default();
    let mut picture = String::new();
    for line in 0..height {
        let row: String = jars
            .iter()
            .map(|jar| {
                // All stand on the same floor.
                let above = height - jar.len();
                let line = line.checked_sub(above).map_or("", |line| jar[line].as_str());
                format!("{line:^JAR_COLUMNS$}")
            })
            .collect();
        picture.push_str(row.trim_end());
        picture.push('\n');
    }
    picture.push_str(&"~".repeat(JARS * JAR_COLUMNS));
    picture.push_str(&format!(
        "\nOne store room, one memory. Dolium {DOLIUM_VERSION}, Redis ver. {REDIS_VERSION}\n"
    ));
    ctx.reply().verbatim(b"txt", picture.as_bytes());
    Ok(())
}

/// There is one picture, but what Redis refuses is refused: a version that is no number, and sizes of the
/// pictures of its versions 5 and 6 that are none.
fn check(call: &Call<'_>) -> Result<(), CommandError> {
    let is_of_version = call.args.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"VERSION"));
    let Some(version) = call.args.get(2).filter(|_| is_of_version) else { return Ok(()) };
    let sizes = match integer(version)? {
        5 => 3,
        6 => 2,
        _ => 0,
    };
    call.args.from(3).iter().take(sizes).try_for_each(|size| integer(size).map(drop))
}

/// A jar whose belly, height, pattern and filling come from the bits of `random`.
fn jar(random: u64) -> Vec<String> {
    let belly = 4 + (random & 3) as usize * 2;
    let rows = 3 + (random >> 2 & 3) as usize;
    let band = [".", "=", "x", "~"][(random >> 4 & 3) as usize].repeat(belly);
    let filled_from = (random >> 6) as usize % (rows + 1);
    let mouth = belly - 2;
    let mut lines = vec![format!("({})", "_".repeat(mouth)), format!("/{}\\", " ".repeat(mouth))];
    for row in 0..rows {
        let inside = if row == rows / 2 {
            band.clone()
        } else if row >= filled_from {
            ":".repeat(belly)
        } else {
            " ".repeat(belly)
        };
        lines.push(format!("|{inside}|"));
    }
    lines.push(format!("\\{}/", "_".repeat(mouth)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jar_fits_its_place() {
        for random in 0..4096 {
            let jar = jar(random);
            assert!(jar.len() >= 6 && jar.iter().all(|line| line.len() <= JAR_COLUMNS), "{random}");
        }
    }
}
