import { describe, expect, it } from '@jest/globals';
import { copyBody } from '../../../spec-support/copy-body.js';
import { isCopyOf, type Envelope, type JobHeader } from '../header.js';
import { longestLocation, type Place } from '../location.js';
import { encodePayload } from '../payload.js';
import { identifyDq1, JobEnvelope } from './dq1.js';
import { unwrap } from '../../../spec-support/unwrap.js';
import { identify } from './unwrap.js';

const JOB: JobHeader = {
  id: '01J00000000000000000000000',
  due: Date.UTC(2030, 0, 1),
  generation: 0,
  copies: 3,
  priority: 1,
};

const wrap = (payload: unknown, job: Partial<JobHeader> = {}, index = 0, siblings?: readonly Place[]) =>
  copyBody(new JobEnvelope({ ...JOB, ...job }, encodePayload(payload)), index, siblings);

function unwrapped(body: Buffer): Envelope {
  const envelope = unwrap(body);
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

describe('an envelope', () => {
  it('is a mark, a line of compact JSON, and the payload', () => {
    const siblings = [{ index: 1, location: 'a:1#x:5' }];
    expect(wrap({ a: 1 }, {}, 0, siblings).toString()).toBe(
      `dq1 {"id":"${JOB.id}","due":${JOB.due},"n":3,"i":0,"l":[[1,"a:1#x:5"]]}\n{"a":1}`,
    );
    expect(wrap('x', {}, 2).toString()).toBe(
      `dq1 {"id":"${JOB.id}","due":${JOB.due},"n":3,"t":"text","i":2}\nx`,
    );
  });

  it('brings back all of its header', () => {
    const job: JobHeader = {
      ...JOB,
      generation: 1_900_000_000_000,
      born: 1_800_000_000_000,
      key: 'order:42 "\n🐇',
      priority: 0,
      attempts: 7,
      backoff: { type: 'fixed', delay: 5, max: 6, jitter: 0.5 },
      headers: { tenant: 'a', 'x y': 'line\nfeed\r\n and 🐇 \ud800', ['__proto__']: 'p', '': '' },
      group: 'user "17"\n🐇',
    };
    const siblings = [
      { index: 1, location: 'a:1#0123456789abcdef:5' },
      { index: 1, location: 'b:1#0123456789abcdef:?' },
    ];
    const { header } = unwrapped(wrap(undefined, job, 0, siblings));
    expect(header).toEqual({ ...job, index: 0, siblings });
    expect(Object.keys(header.headers!)).toContain('__proto__');
    expect(
      unwrapped(wrap(5, { ...job, backoff: { ...job.backoff!, type: 'exponential' } })).header.backoff,
    ).toEqual({
      ...job.backoff,
      type: 'exponential',
    });
  });

  it('leaves out defaults', () => {
    expect(unwrapped(wrap(5)).header).toEqual({
      ...JOB,
      born: 0,
      key: undefined,
      attempts: undefined,
      backoff: undefined,
      headers: undefined,
      group: undefined,
      index: 0,
      siblings: [],
    });
  });

  it('was born with its generation, unless it says otherwise', () => {
    expect(unwrapped(wrap(5, { generation: 7 })).header).toMatchObject({ generation: 7, born: 7 });
    expect(unwrapped(wrap(5, { generation: 7, born: 7 })).header.born).toBe(7);
    // A plain job that was moved.
    expect(unwrapped(wrap(5, { generation: 7, born: 0 })).header).toMatchObject({ generation: 7, born: 0 });
    expect(wrap('x', { generation: 7, born: 7, key: 'k' }, 1).toString()).toBe(
      `dq1 {"id":"${JOB.id}","due":${JOB.due},"n":3,"g":7,"k":"k","t":"text","i":1}\nx`,
    );
    expect(wrap('x', { generation: 7, born: 0 }, 1).toString()).toContain('"g":7,"o":0,');
  });

  it('is never larger than it says, whatever its places', () => {
    const random = (most: number) => Math.floor(Math.random() * most);
    for (let i = 0; i < 2_000; i++) {
      const nodes = 1 + random(12);
      const extreme = random(2) === 0;
      const endpoints = Array.from(
        { length: nodes },
        () => `${'n'.repeat(extreme ? 60 : 1 + random(60))}:65535`,
      );
      const copies = 1 + random(31);
      const envelope = new JobEnvelope(
        {
          ...JOB,
          copies,
          due: random(8.64e15),
          generation: random(2) * random(8.64e15),
          born: random(2) * random(8.64e15),
          key: random(2) ? 'ä"\n🐇'.repeat(1 + random(100)) : undefined,
          headers: random(2) ? { h: 'ä"\n🐇'.repeat(random(50)) } : undefined,
        },
        encodePayload(random(2) ? Buffer.alloc(random(500)) : { x: 'ü'.repeat(random(100)) }),
      );
      const longest = Math.max(...endpoints.map(longestLocation));
      const largest = envelope.largestCopy(nodes - 1, longest);
      const siblings = endpoints.slice(1).map((endpoint) => ({
        index: extreme ? 30 : random(31),
        location: `${endpoint}#0123456789abcdef:${'1'.repeat(extreme ? 20 : 1 + random(20))}`,
      }));
      expect(copyBody(envelope, 0, siblings).length).toBeLessThanOrEqual(largest);
      expect(copyBody(envelope, 30).length).toBeLessThanOrEqual(largest);
    }
  });

  it('takes as much as docs/guarantees.md says of a header', () => {
    const longest = longestLocation('255.255.255.255:65535');
    const header = (nodes: number, job?: Partial<JobHeader>) =>
      new JobEnvelope({ ...JOB, priority: 2, ...job }, encodePayload('')).largestCopy(nodes - 1, longest);
    const plain = header(3);
    expect(plain).toBeLessThanOrEqual(265);
    expect(header(4) - plain).toBe(69);
    const keyed = { id: 'x'.repeat(24), generation: JOB.due, key: 'k'.repeat(500) };
    expect(header(3, keyed) - plain).toBeLessThanOrEqual(525);
    expect(header(3, { group: 'g'.repeat(100) }) - plain).toBe(107);
  });
});

describe('unwrap', () => {
  it.each<[string, string, RegExp]>([
    ['nothing', '', /is empty or has more than 16777216/],
    ['a mark alone', 'dq1', /does not begin with "dq1 "/],
    ['a mark of another version', 'dq2 {}\nx', /does not begin with "dq1 " but with "dq2 {}\\nx"/],
    ['a job of another program', '1893456000000000000 hello', /does not begin with "dq1 "/],
    ['no end of the header', 'dq1 {"id":"x"}', /header has no end/],
    ['no JSON', 'dq1 {"id"\nx', /header is not valid JSON/],
    ['an empty header', 'dq1 \nx', /header is not valid JSON/],
    ['null', 'dq1 null\nx', /header is not an object/],
    ['a number', 'dq1 5\nx', /header is not an object/],
    ['more than 1 MiB', `dq1 {"id":"${'x'.repeat(2 ** 20)}"}\n`, /more than 1048576 characters/],
    ['a header for terminals', 'dq1 \x1b[2J\r\nx', /not valid JSON: .*\\u001b/],
    ['an array', 'dq1 []\nx', /field "id" is undefined/],
  ])('says why %s is no envelope', (_name, body, why) => {
    expect(unwrap(Buffer.from(body))).toMatch(why);
  });

  it.each<[string, unknown]>([
    ['id', undefined],
    ['id', ''],
    ['id', 5],
    ['id', 'x'.repeat(101)],
    ['id', ':dead'],
    ['id', 'a\r\nb'],
    ['due', undefined],
    ['due', '5'],
    ['due', -1],
    ['due', 1.5],
    ['due', 9e15],
    ['n', 0],
    ['n', 32],
    ['i', undefined],
    ['i', -1],
    ['i', 31],
    ['g', -1],
    ['g', null],
    ['o', -1],
    ['o', '5'],
    ['k', 5],
    ['k', null],
    ['p', 3],
    ['a', 0],
    ['a', '3'],
    ['b', 'f'],
    ['b', ['x', 1, 1, 0]],
    ['b', ['f', 1, 1]],
    ['b', ['f', 1, 1, 2]],
    ['b', ['f', -1, 1, 0]],
    ['b', ['f', 1, '1', 0]],
    ['b', ['e', 1e12, 1, 0]],
    ['b', ['e', 1, 1e308, 0]],
    ['h', 'x'],
    ['h', ['x']],
    ['h', { a: 1 }],
    ['h', null],
    ['k', ''],
    ['k', 'k'.repeat(501)],
    ['l', Array.from({ length: 101 }, () => [0, 'a#b:1'])],
    ['u', 'u'.repeat(101)],
    ['u', ''],
    ['u', 17],
    ['u', null],
    ['t', 'json5'],
    ['l', {}],
    ['l', [5]],
    ['l', [[31, 'a#b:1']]],
    ['l', [[0, 5]]],
  ])('names the field %s when it is %p', (field, value) => {
    const header = { id: 'x', due: 5, n: 3, i: 0, [field]: value };
    expect(unwrap(Buffer.from(`dq1 ${JSON.stringify(header)}\n1`))).toMatch(
      new RegExp(`^its header's field "${field}" is `),
    );
  });

  it('refuses a number beyond the safe integers', () => {
    expect(unwrap(Buffer.from('dq1 {"id":"x","due":5,"n":3,"i":0,"b":["f",1e999,1,0]}\n1'))).toMatch(/"b"/);
  });

  it('ignores unknown fields, since a later version may write them', () => {
    expect(unwrapped(Buffer.from('dq1 {"id":"x","due":5,"n":3,"i":0,"new":{"a":1}}\n1')).header.id).toBe('x');
  });

  it('never throws, whatever is in a body', () => {
    const good = wrap({ a: 1 }, { attempts: 3, headers: { a: 'b' } }, 0, [{ index: 1, location: 'a:1#x:5' }]);
    for (let i = 0; i < 5_000; i++) {
      const body = Buffer.from(good);
      for (let changes = Math.floor(Math.random() * 4); changes >= 0; changes--) {
        body[Math.floor(Math.random() * body.length)] = Math.floor(Math.random() * 256);
      }
      const end = Math.random() < 0.2 ? Math.floor(Math.random() * body.length) : body.length;
      const result = unwrap(body.subarray(0, end));
      expect(['string', 'object']).toContain(typeof result);
    }
    for (let i = 0; i < 500; i++) {
      const noise = Buffer.from(Array.from({ length: i % 60 }, () => Math.floor(Math.random() * 256)));
      expect(['string', 'object']).toContain(typeof unwrap(noise));
      expect(typeof unwrap(Buffer.concat([Buffer.from('dq1 '), noise, Buffer.from('\n')]))).toBe('string');
    }
  });
});

it('identifies the job of a copy from its first fields as from all of them', () => {
  const jobs: Partial<JobHeader>[] = [
    {},
    { generation: 7 },
    { generation: 7, born: 0 },
    { generation: 7, born: 5, key: 'k', priority: 0, attempts: 3 },
    { group: 'user-17' },
    { headers: { '","g":9,"i":': '","g":9' } },
    { backoff: { type: 'fixed', delay: 5, max: 6, jitter: 0.5 } },
    { due: 8.64e15 },
  ];
  for (const job of jobs) {
    for (const payload of [5, 'text', undefined]) {
      const body = wrap(payload, job, 1);
      const { id, due, generation, born } = unwrapped(body).header;
      expect(identify(body.toString('latin1'))).toMatchObject({ id, due, generation, born });
      if (job.due === undefined) expect(identifyDq1(body.toString('latin1'))).toBeDefined();
    }
  }
});

it.each([
  'dq1 {"id":"x","due":5,"n":3,"new":1,"g":7,"i":0}\n1',
  'dq1 {"n":3,"g":7,"due":5,"id":"x","i":0}\n1',
])('does not take the first fields for all, in a header that a later version may write: %s', (body) => {
  expect(identifyDq1(body)).toBeUndefined();
  expect(identify(body)).toMatchObject({ id: 'x', due: 5, generation: 7, born: 7 });
});

it('knows the very copy: id, generation and index', () => {
  const envelope = unwrapped(wrap(5, { generation: 7 }, 2));
  expect(isCopyOf(envelope, JOB.id, 7, 2)).toBe(true);
  expect(isCopyOf(envelope, 'another', 7, 2)).toBe(false);
  expect(isCopyOf(envelope, JOB.id, 8, 2)).toBe(false);
  expect(isCopyOf(envelope, JOB.id, 7, 1)).toBe(false);
});
