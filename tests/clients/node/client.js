// ioredis, unmodified: strings, automatic pipelining, transactions, SCAN streams, reconnecting.
'use strict';

const Redis = require('ioredis');
const readline = require('readline');
const { isDeepStrictEqual } = require('util');

const port = Number(process.argv[2]);
const client = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null });
client.on('error', () => {}); // Expected while the server restarts.

async function check(name, action, expected) {
  try {
    const found = await action();
    if (isDeepStrictEqual(found, expected)) console.log(`ok ${name}`);
    else console.log(`not ok ${name}: ${JSON.stringify(found)} is not ${JSON.stringify(expected)}`);
  } catch (why) {
    console.log(`not ok ${name}: ${String(why).replace(/\n/g, ' ')}`);
  }
}

async function scanned() {
  const keys = new Set();
  for await (const page of client.scanStream({ match: 'p:*', count: 100 })) page.forEach((key) => keys.add(key));
  return keys.size;
}

async function main() {
  await client.flushall();
  await check('ping', () => client.ping(), 'PONG');
  await check('set', () => client.set('k', 'v'), 'OK');
  await check('get', () => client.get('k'), 'v');
  await check('missing key', () => client.get('none'), null);
  await check('set with options', () => client.set('k', 'w', 'EX', 100, 'XX', 'GET'), 'v');
  await check('incr', () => client.incrby('n', 41).then(() => client.incr('n')), 42);
  await check('mset and mget', () => client.mset('a', 1, 'b', 2).then(() => client.mget('a', 'b', 'none')), ['1', '2', null]);
  await check('buffers', () => client.set('bin', Buffer.from([0, 13, 10, 255])).then(() => client.getBuffer('bin')), Buffer.from([0, 13, 10, 255]));
  const pipeline = client.pipeline();
  for (let number = 0; number < 1000; number++) pipeline.set(`p:${number}`, number);
  await check('pipeline', async () => (await pipeline.get('p:999').exec()).at(-1), [null, '999']);
  await check('transaction', () => client.multi().set('x', 1).incr('x').exec(), [[null, 'OK'], [null, 2]]);
  await check('parallel commands', async () => (await Promise.all(Array.from({ length: 500 }, () => client.incr('c')))).at(-1), 500);
  await check('scan', scanned, 1000);
  await check('an error rejects', () => client.call('GET').catch((why) => /wrong number of arguments/.test(why.message)), true);

  const input = readline.createInterface({ input: process.stdin });
  console.log('restart');
  await new Promise((done) => input.once('line', done));
  await check('works after the restart', () => client.set('again', 1).then(() => client.get('again')), '1');
  input.close();
  client.disconnect();
}

main();
