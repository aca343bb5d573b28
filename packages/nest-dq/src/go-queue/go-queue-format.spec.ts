import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JobRefText } from '../api/job.js';
import type { Envelope } from '../copies/header.js';
import { decodePayload, encodePayload } from '../copies/payload.js';
import {
  GO_QUEUE,
  GoQueueEnvelope,
  goQueueCopies,
  goQueueIndex,
  goQueueOwed,
  isGoQueueId,
} from './go-queue-format.js';
import { unwrap } from '../../spec-support/unwrap.js';
import { identify, openHeaderOf } from '../copies/formats/unwrap.js';

const DUE = Date.UTC(2030, 0, 1);

function read(body: string | Buffer): Envelope {
  const envelope = unwrap(Buffer.from(body));
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

const written = (payload: unknown, below = 0) => {
  const envelope = new GoQueueEnvelope(DUE, below, encodePayload(payload), 3);
  return { envelope, body: Buffer.concat(envelope.body().map((part) => Buffer.from(part))) };
};

describe('a job as go-queue stores it', () => {
  it('is its time in nanoseconds, a slash, and the payload', () => {
    expect(written({ a: 1 }).body.toString()).toBe(`${DUE}000000/{"a":1}`);
    expect(written('hello', 7).body.toString()).toBe(`${DUE}000007/hello`);
    expect(written(undefined).body.toString()).toBe(`${DUE}000000/`);
    expect(written(Buffer.from([1, 0xff])).body).toEqual(
      Buffer.concat([Buffer.from(`${DUE}000000/`), Buffer.from([1, 0xff])]),
    );
  });

  it('is known by the MD5 of its bytes, as in the keys of go-queue', () => {
    const { envelope, body } = written({ a: 1 });
    const md5 = createHash('md5').update(body).digest('hex');
    expect(envelope.job.id).toBe(md5);
    expect(read(body).header.id).toBe(md5);
    expect(isGoQueueId(md5)).toBe(true);
    expect(isGoQueueId('01J00000000000000000000000')).toBe(false);
    for (const found of [identify(body.toString('latin1')), openHeaderOf(body)])
      expect(found).toMatchObject({ id: md5, due: DUE });
  });

  it('is another job if it differs in its nanoseconds alone', () => {
    expect(written(5, 1).envelope.job.id).not.toBe(written(5, 2).envelope.job.id);
  });

  it('is identified by all of its bytes, even those after a line feed', () => {
    const [one, other] = ['1/a\nb', '1/a\nc'].map((body) => identify(body));
    expect(one!.id).toBe(createHash('md5').update('1/a\nb').digest('hex'));
    expect(other!.id).not.toBe(one!.id);
  });

  it('is not due before its last nanosecond', () => {
    expect(read('1893456000000000000/x').header.due).toBe(1_893_456_000_000);
    expect(read('1893456000000000001/x').header.due).toBe(1_893_456_000_001);
    expect(read('1893456000000999999/x').header.due).toBe(1_893_456_000_001);
  });

  it.each<[string, unknown]>([
    ['{"id":"A1"}', { id: 'A1' }],
    ['5', 5],
    ['null', null],
    ['', undefined],
    ['A1', 'A1'],
    ['a/b', 'a/b'],
    ['{"id":', '{"id":'],
    ['ü🐇', 'ü🐇'],
  ])('brings the payload %j', (bytes, payload) => {
    expect(decodePayload(read(`${DUE}000000/${bytes}`).content)).toEqual(payload);
  });

  it('brings bytes that are no text as they are', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0]);
    const body = Buffer.concat([Buffer.from('17/'), bytes]);
    expect(decodePayload(read(body).content)).toEqual(bytes);
  });

  it('does not know its other copies: each node may have one', () => {
    const { header } = read('17/x');
    expect(header).toMatchObject({ foreign: GO_QUEUE, generation: 0, index: 0, siblings: [] });
    expect(goQueueOwed(3)).toEqual({ mask: 0b111, unknown: false });
    expect([0, 2, 40].map((rank) => goQueueIndex({ rank }))).toEqual([0, 2, 30]);
    expect(goQueueOwed(40)).toEqual({ mask: 2 ** 31 - 1, unknown: false });
  });

  it.each(['/x', 'x/y', '-5/x', '+5/x', '1 /x', '123456789012345678901/x', '17', '17x/'])(
    'is not what %j is',
    (body) => {
      expect(unwrap(Buffer.from(body))).toMatch(/does not begin/);
    },
  );

  it('surfaces after its time, so that go-queue runs none early', () => {
    const { envelope } = written(5);
    expect([-5, 0, 1, 1_000, 1_001, 1_999].map((ms) => envelope.delay(0, ms))).toEqual([0, 0, 1, 1, 2, 2]);
    expect(envelope.largestCopy()).toBe(written(5).body.length);
  });
});

describe("go-queue's reference", () => {
  it('names the copies of a job, as it is or as `ref`', () => {
    const tube = 'order.cancel';
    const copies = [
      { endpoint: '10.0.0.1:11300', tube, copyId: '17' },
      { endpoint: 'tls://[::1]:11301', tube, copyId: '4' },
      { endpoint: 'unix:/run/a.sock', tube, copyId: '5' },
    ];
    const ids = copies.map(({ endpoint, copyId }) => `${endpoint}/${tube}/${copyId}`).join();
    expect(goQueueCopies(ids as JobRefText)).toEqual(copies);
    expect(goQueueCopies({ ref: ids })).toEqual(copies);
  });

  it.each<unknown>([
    '',
    'dq1.abc',
    'a:1/tube',
    'a:1/tube/x',
    'a:1/tube/1,',
    'a:1/tu be/1',
    { ref: 5 },
    { tube: 'x', key: 'k' },
    null,
    undefined,
  ])('is not %j', (ref) => {
    expect(goQueueCopies(ref as JobRefText)).toBeUndefined();
  });
});
