import { beforeEach, describe, expect, it } from '@jest/globals';
import type { GoQueueEvent } from 'test-servers';
import { check } from '../checker.js';
import { History } from '../history.js';
import type { Line } from '../log.js';
import { GoFates, sharesOf } from './fates.js';

const DUE = 1_000;
let lines: Line[];
let fates: GoFates;
let runs = 0;

beforeEach(() => {
  lines = [];
  fates = new GoFates();
});

function stored(job: number): void {
  lines.push({ what: 'schedule', job, generation: 0, due: DUE, askedAt: 10, at: 20, answer: 'stored' });
}

function ran(job: number, process: string, at = DUE + 1, how: 'done' | 'fail' = 'done'): void {
  const run = `${process}/${++runs}`;
  const times = { dueAt: DUE, lateness: 0, at };
  lines.push({ what: 'start', run, process, job, generation: 0, attempt: 1, fence: at * 1000, ...times });
  lines.push({ what: 'end', run, how, at: at + 1 });
}

function noteAll(job: number, ...events: GoQueueEvent['what'][]): void {
  for (const what of events) fates.note(job, what);
}

function shares(addedByGo: (job: number) => boolean = () => false) {
  const history = History.of(lines);
  return sharesOf(check(history), history, fates, addedByGo);
}

describe('a job that never succeeded', () => {
  const COPY_UNLOCKED = ['deletes', 'unlocked'] as const;
  const COPY_REFUSED = ['deletes', 'refused'] as const;

  it.each<[string, GoQueueEvent['what'][]]>([
    ['its handler failed there', ['deletes', 'runs', 'failed']],
    ['its process was killed in the handler', ['deletes', 'runs']],
    ['its process was killed before it reported what became of a copy', ['deletes']],
    [
      'it deleted all copies without an answer of Redis',
      [...COPY_UNLOCKED, ...COPY_UNLOCKED, ...COPY_UNLOCKED],
    ],
  ])('is lost by go-queue if %s', (_, events) => {
    stored(1);
    noteAll(1, ...events);
    expect(shares().ours.lost).toEqual([]);
    expect(shares().note).toContain('lost 1 ');
  });

  it.each<[string, GoQueueEvent['what'][]]>([
    ['did nothing with it', []],
    ['was refused its lock for each copy', [...COPY_REFUSED, ...COPY_REFUSED, ...COPY_REFUSED]],
    ['left a copy', [...COPY_UNLOCKED, ...COPY_UNLOCKED, ...COPY_REFUSED]],
  ])('is lost by us if go-queue %s', (_, events) => {
    stored(1);
    noteAll(1, ...events);
    expect(shares().ours.lost).toEqual([1]);
    expect(shares().note).toContain('lost 0 ');
  });
});

describe('a job that ran twice', () => {
  it('is doubled by go-queue if it ran there, too', () => {
    stored(1);
    ran(1, 'consumer-1');
    ran(1, 'go-1', DUE + 5);
    expect(shares().ours.duplicates).toEqual([]);
    expect(shares().note).toContain('twice 1');
  });

  it('is doubled by us if it only failed there', () => {
    stored(1);
    ran(1, 'go-1', DUE + 1, 'fail');
    ran(1, 'consumer-1', DUE + 2);
    ran(1, 'consumer-2', DUE + 5);
    expect(shares().ours.duplicates).toHaveLength(1);
  });
});

describe('a job that ran early', () => {
  it('is early by go-queue if it was added and run there', () => {
    stored(1);
    ran(1, 'go-1', DUE - 5);
    expect(shares((job) => job === 1).ours.early).toEqual([]);
    expect(shares((job) => job === 1).note).toContain('early 1');
  });

  it.each([
    ['nest-dq added it', 'go-1', false],
    ['nest-dq ran it', 'consumer-1', true],
  ])('is early by us if %s', (_, process, addedByGo) => {
    stored(1);
    ran(1, process, DUE - 5);
    expect(shares(() => addedByGo).ours.early).toHaveLength(1);
  });
});
