import { describe, expect, it } from '@jest/globals';
import { check } from '../checker.js';
import { History } from '../history.js';
import type { Line } from '../log.js';
import { judge, type Allowed, type Evidence } from './checker.js';
import type { Copy } from './copy.js';

const PAYLOAD = '{"job":1}';
const COPY: Copy = { node: 0, id: '7', tube: 'orders', state: 'delayed', body: 'dqs …' };

function found(...lines: Line[]) {
  return check(History.of(lines));
}

function stored(job = 1): Line {
  return { what: 'schedule', job, generation: 0, due: 100, askedAt: 10, at: 20, answer: 'stored' };
}

function run(fence: number, job = 1, at = 100 + fence): Line[] {
  const name = `p/${fence}`;
  const start = { process: 'p', generation: 0, attempt: 1, dueAt: 100, lateness: 0 };
  return [
    { what: 'start', run: name, job, fence, at, ...start },
    { what: 'end', run: name, how: 'done', at: at + 1 },
  ];
}

/** Nothing went wrong: a job ran once, and a copy of another one was not touched. */
const GOOD: Evidence = {
  found: found(stored(), ...run(1)),
  scheduled: new Map([[PAYLOAD, 'orders']]),
  seen: [{ what: 'seen', tube: 'orders', payload: PAYLOAD }],
  readable: { nodes: 0, redis: 0 },
  commands: 100,
  victims: [{ copy: COPY, after: COPY.body }],
  unrevoked: [],
  refused: 5,
  toRefuse: 5,
  letters: 0,
  ended: [],
  copiesLeft: 0,
};

function wrong(changes: Partial<Evidence>, allows: Allowed = {}): string[] {
  return judge({ ...GOOD, ...changes }, allows).checks.filter((text) => text !== '');
}

describe('the checker of attacks', () => {
  it('finds nothing in an attack that came to nothing', () => {
    expect(judge(GOOD, {})).toMatchObject({ forged: 0, readable: 0, victimsGone: 0 });
    expect(wrong({})).toEqual([]);
  });

  it.each<[string, Partial<Evidence>]>([
    ['a payload that nobody scheduled', { seen: [{ what: 'seen', tube: 'orders', payload: '"forged"' }] }],
    ['a payload of another tube', { seen: [{ what: 'seen', tube: 'mails', payload: PAYLOAD }] }],
    ['a run of a job that nobody added', { found: found(stored(), ...run(1), ...run(2, 9)) }],
    ['a copy that shows a secret', { readable: { nodes: 1, redis: 0 } }],
    ['a command to Redis that shows a secret', { readable: { nodes: 0, redis: 1 } }],
    ['Redis not watched', { commands: 0 }],
    ['a copy of others that is gone', { victims: [{ copy: COPY, after: undefined }] }],
    ['a copy of others that was changed', { victims: [{ copy: COPY, after: 'dqs changed' }] }],
    ['a job that waited and could not be revoked', { unrevoked: ['done'] }],
    ['a copy that had to be refused and was not', { refused: 4 }],
    ['a lost job', { found: found(stored()) }],
    ['an early run', { found: found(stored(), ...run(1, 1, 99)) }],
    ['a job that ran twice', { found: found(stored(), ...run(1), ...run(2)) }],
    ['a dead letter', { letters: 1 }],
    ['a process that ended', { ended: ['consumer-1'] }],
    ['a copy that is left', { copiesLeft: 1 }],
  ])('finds %s', (_, changes) => expect(wrong(changes)).toHaveLength(1));

  it('finds a run after a revoke', () => {
    const revoked: Line = { what: 'revoke', job: 1, askedAt: 30, at: 40, answer: 'revoked' };
    expect(wrong({ found: found(stored(), revoked, ...run(1)) })).toEqual([
      'ran after a revoke: 1, at most 0 allowed',
    ]);
  });

  it('lets an attacker do what its position allows, and no more', () => {
    const twice = { found: found(stored(), ...run(1), ...run(2)) };
    expect(wrong(twice, { jobs: new Set([1]) })).toEqual([]);
    expect(wrong(twice, { jobs: new Set([2]) })).toHaveLength(1);
    expect(wrong({ found: found(stored(), ...run(1, 1, 99)) }, { jobs: new Set([1]) })).toHaveLength(1);
    const gone = { victims: [{ copy: COPY, after: undefined }] };
    expect(wrong(gone, { copies: ({ node }) => node === 0 })).toEqual([]);
    expect(wrong(gone, { copies: ({ node }) => node === 1 })).toHaveLength(1);
  });
});
