// One process of the EMS experiment: `ems.js read|write NUMBER OF PAIRS KEY-BYTES VALUE-BYTES FILE`.
// Prints operations, the least microseconds of one, and seconds at the beginning and the end.
'use strict';
const [operation, number, of, pairs, keyBytes, valueBytes, file] = process.argv.slice(2);
const ems = require('ems')(1, false, 'user');
const fs = require('fs');
const first = Number(number) === 0;
const ready = file + '.ready';
const count = Number(pairs);
const options = {
  filename: file, dimensions: [count * 2], heapSize: count * (Number(valueBytes) + Number(keyBytes)) * 4,
  useMap: true, useExisting: !first, doSetFEtags: false, doDataFill: false,
};
const wait = new Int32Array(new SharedArrayBuffer(4));
while (!first && !fs.existsSync(ready)) Atomics.wait(wait, 0, 0, 2);
const memory = ems.new(options);
const key = (n) => ('key:' + n).padEnd(Number(keyBytes), 'k');
const value = (n) => ('value:' + n + ':').padEnd(Number(valueBytes), 'v');
if (first) {
  if (operation === 'read') for (let n = 0; n < count; n++) memory.write(key(n), value(n));
  fs.writeFileSync(ready, '');
}
// All begin together: each says that it is ready and waits for the others.
fs.writeFileSync(ready + number, '');
for (let n = 0; n < Number(of); n++) while (!fs.existsSync(ready + n)) Atomics.wait(wait, 0, 0, 2);
let least = Infinity;
let done = 0;
const begun = process.hrtime.bigint();
for (let n = Number(number); n < count; n += Number(of)) {
  const name = key(n);
  const expected = value(n);
  let found = expected;
  const start = process.hrtime.bigint();
  if (operation === 'read') found = memory.read(name);
  else memory.write(name, expected);
  const took = Number(process.hrtime.bigint() - start) / 1e3;
  if (found !== expected) { console.log('wrong value'); process.exit(1); }
  if (took < least) least = took;
  done += 1;
}
console.log(done, least, Number(begun) / 1e9, Number(process.hrtime.bigint()) / 1e9);
process.exit(0);
