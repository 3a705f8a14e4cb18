//! What the fuzz suite sends: valid requests of each protocol, and what becomes of them.
//!
//! Half of the requests stay valid, so that the parser gets past the first broken one; one in 16 is
//! random bytes; of the others bytes are flipped, cut, repeated or inserted.

/// No request may wait for others or switch replies off: each connection is owed an answer or its end.
pub const RESP: &[&[u8]] = &[
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n",
    b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    b"*4\r\n$8\r\nSETRANGE\r\n$1\r\nk\r\n$1\r\n7\r\n$2\r\nab\r\n",
    b"*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n1\r\n$2\r\nEX\r\n$2\r\n10\r\n",
    b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
    b"*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n",
    b"*4\r\n$4\r\nSCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$4\r\n[a-z\r\n",
    b"*5\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$1\r\na\r\n$1\r\nb\r\n$3\r\n300\r\n",
    b"*4\r\n$6\r\nLRANGE\r\n$1\r\nl\r\n$2\r\n-3\r\n$2\r\n-1\r\n",
    b"*4\r\n$4\r\nLREM\r\n$1\r\nl\r\n$1\r\n2\r\n$1\r\na\r\n",
    b"*4\r\n$5\r\nLTRIM\r\n$1\r\nl\r\n$1\r\n0\r\n$2\r\n99\r\n",
    b"*3\r\n$4\r\nLPOP\r\n$1\r\nl\r\n$1\r\n2\r\n",
    b"*5\r\n$4\r\nSADD\r\n$1\r\ns\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\nx\r\n",
    b"*3\r\n$4\r\nSREM\r\n$1\r\ns\r\n$1\r\n2\r\n",
    b"*3\r\n$11\r\nSRANDMEMBER\r\n$1\r\ns\r\n$2\r\n-9\r\n*2\r\n$4\r\nSPOP\r\n$1\r\ns\r\n",
    b"*4\r\n$10\r\nSINTERCARD\r\n$1\r\n2\r\n$1\r\ns\r\n$1\r\nt\r\n",
    b"SET inline \"quoted \\x41\"\r\n",
];
pub const TEXT: &[&[u8]] = &[
    b"set k 1 0 5\r\nvalue\r\n",
    b"get k other\r\n",
    b"gets k\r\n",
    b"cas k 1 0 1 77\r\nx\r\n",
    b"incr k 18446744073709551615\r\n",
    b"append k 0 0 3 noreply\r\nabc\r\n",
    b"mg k v t f c s k O123 q\r\n",
    b"ms k 3 T30 F5 c\r\nabc\r\n",
    b"ma n N0 J13 D1 v\r\n",
    b"md k q\r\nmn\r\n",
    b"touch k 10\r\n",
];
/// A header says how long key (bytes 2 and 3), extras (4) and all of the body (8 to 11) are.
pub const BINARY: &[&[u8]] = &[
    // set, with flags and a time to live; add, quietly
    b"\x80\x01\0\x01\x08\0\0\0\0\0\0\x0eopaq\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\x3ckvalue",
    b"\x80\x12\0\x01\x08\0\0\0\0\0\0\x0eopaq\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0kvalue",
    // set of what has another unique number
    b"\x80\x01\0\x01\x08\0\0\0\0\0\0\x0aopaq\0\0\0\0\0\0\0\x4d\0\0\0\0\0\0\0\0kx",
    // get; getkq and noop; get and touch
    b"\x80\0\0\x01\0\0\0\0\0\0\0\x01opaq\0\0\0\0\0\0\0\0k",
    b"\x80\x0d\0\x01\0\0\0\0\0\0\0\x01opaq\0\0\0\0\0\0\0\0k\
      \x80\x0a\0\0\0\0\0\0\0\0\0\0opaq\0\0\0\0\0\0\0\0",
    b"\x80\x1d\0\x01\x04\0\0\0\0\0\0\x05opaq\0\0\0\0\0\0\0\0\0\0\0\x0ak",
    // increment by 1 from 0; append; delete; version
    b"\x80\x05\0\x01\x14\0\0\0\0\0\0\x15opaq\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0n",
    b"\x80\x0e\0\x01\0\0\0\0\0\0\0\x03opaq\0\0\0\0\0\0\0\0kab",
    b"\x80\x04\0\x01\0\0\0\0\0\0\0\x01opaq\0\0\0\0\0\0\0\0k",
    b"\x80\x0b\0\0\0\0\0\0\0\0\0\0opaq\0\0\0\0\0\0\0\0",
];
pub const HTTP: &[&[u8]] = &[
    b"GET /keys/k HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PUT /keys/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nvalue",
    b"DELETE /keys/k HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /metrics HTTP/1.0\r\n\r\n",
];

/// Appends one request.
pub fn request(random: &mut Random, valid: &[&[u8]], bytes: &mut Vec<u8>) {
    let mut one = valid[random.below(valid.len())].to_vec();
    let choice = random.below(16);
    if choice == 0 {
        one = (0..random.below(200)).map(|_| random.next() as u8).collect();
    } else if choice < 8 {
        for _ in 0..=random.below(3) {
            mutate(random, &mut one);
        }
    }
    bytes.extend_from_slice(&one);
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len().max(1));
    match random.below(6) {
        0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        1 => bytes.truncate(at),
        2 => bytes.insert(at, random.next() as u8),
        3 if !bytes.is_empty() => drop(bytes.remove(at)),
        4 => bytes.extend_from_within(at.min(bytes.len())..),
        _ => {
            let number = [b"-1".as_slice(), b"2147483648", b"99999999999999999999", b"0"];
            let number = number[random.below(number.len())];
            bytes.splice(at..at, number.iter().copied());
        }
    }
}

/// xorshift64*: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::BINARY;

    #[test]
    fn binary_requests_are_as_long_as_their_headers_say() {
        for request in BINARY {
            let mut rest = *request;
            while !rest.is_empty() {
                let body = u32::from_be_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
                rest = rest.get(24 + body..).expect("as long as it says");
            }
        }
    }
}
