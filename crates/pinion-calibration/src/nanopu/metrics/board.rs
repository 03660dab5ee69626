//! Moves on an 8 × 8 board whose discs are captured along rows, columns and diagonals, square by
//! square: the long way, so that it checks the program's short one.

const DIRECTIONS: [(i8, i8); 8] =
    [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// Gives the discs that a move captures.
pub fn captured(place: u64, mine: u64, theirs: u64) -> u64 {
    let square = place.trailing_zeros() as i8;
    let lines = DIRECTIONS.iter().map(|&(right, up)| {
        let (mut column, mut row) = (square % 8 + right, square / 8 + up);
        let mut run = 0;
        while (0..8).contains(&column) && (0..8).contains(&row) {
            let at = 1_u64 << (row * 8 + column);
            if mine & at != 0 {
                return run;
            }
            if theirs & at == 0 {
                return 0;
            }
            run |= at;
            (column, row) = (column + right, row + up);
        }
        0
    });
    lines.fold(0, |all, line| all | line)
}

/// Gives the squares that can be moved to.
pub fn legal(mine: u64, theirs: u64) -> u64 {
    let empty = (0..64).map(|square| 1_u64 << square).filter(|at| (mine | theirs) & at == 0);
    empty.filter(|&at| captured(at, mine, theirs) != 0).fold(0, |moves, at| moves | at)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_opening_has_four_moves() {
        let (mine, theirs) = (0x8_1000_0000, 0x10_0800_0000);
        let moves = super::legal(mine, theirs);
        assert_eq!(moves.count_ones(), 4);
        let one = moves & moves.wrapping_neg();
        assert_eq!(super::captured(one, mine, theirs).count_ones(), 1);
    }
}
