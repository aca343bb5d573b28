import { describe, expect, it } from '@jest/globals';
import type { ProcessRecord, ProcessSettings } from '../fleet/presence.js';
import type { DqOptions } from '../nest/options.js';
import { resolveSettings } from './settings.js';
import { sharedSettings } from './cluster.js';

const DAY = 86_400_000;
const NODES = ['a:1', 'b:1', 'c:1'];
const SETTINGS: ProcessSettings = {
  prefix: 'shop.',
  replicas: 3,
  minWritten: 2,
  lease: 20_000,
  doneTtl: 900_000,
  staleAfter: DAY,
};

function processOf(settings: Partial<ProcessSettings> = {}, nodes = NODES): ProcessRecord {
  return {
    id: 'p',
    host: 'web-1',
    pid: 4711,
    version: '0.1.0',
    nodeVersion: 'v24',
    upFor: 0,
    consumes: true,
    nodes: Object.fromEntries(nodes.map((node) => [node, true])),
    settings: { ...SETTINGS, ...settings },
    tubes: [],
  };
}

function shared(processes: readonly ProcessRecord[], more: DqOptions = {}) {
  const given: DqOptions = { beanstalks: NODES, redis: 'redis://r', prefix: 'shop.', ...more };
  const { options, doubts } = sharedSettings(given, resolveSettings(given), processes);
  const { lease, doneTtl, staleAfter, replicas, minWritten } = resolveSettings(options);
  return { settings: { lease, doneTtl, staleAfter, replicas, minWritten }, doubts };
}

describe('the settings of a command', () => {
  it('are those of the processes', () => {
    const { settings, doubts } = shared([processOf(), processOf()]);
    expect({ prefix: 'shop.', ...settings }).toEqual(SETTINGS);
    expect(doubts).toEqual([]);
  });

  it('are those it was given, before those of the processes', () => {
    const { settings } = shared([processOf()], { advanced: { staleAfter: '2d', lease: '30s' } });
    expect(settings).toMatchObject({ staleAfter: 2 * DAY, lease: 30_000, doneTtl: 900_000 });
  });

  it('are the largest where processes differ, in a line that names the values', () => {
    const { settings, doubts } = shared([
      processOf(),
      processOf({ lease: 60_000, replicas: 2 }),
      processOf(),
    ]);
    expect(settings).toMatchObject({ lease: 60_000, replicas: 3 });
    expect(doubts).toEqual(['processes differ in lease (20s, 1m) and replicas (2, 3); using the largest']);
  });

  it('are the defaults where there is no process, and a line says so', () => {
    const { settings, doubts } = shared([], { advanced: { lease: '30s' } });
    expect(settings).toMatchObject({ lease: 30_000, staleAfter: 7 * DAY });
    expect(doubts).toEqual([
      'no process with the prefix "shop." is running; using the defaults for doneTtl, staleAfter, replicas, minWritten',
    ]);
    const advanced = { lease: '30s', doneTtl: '1h', staleAfter: '1d' } as const;
    expect(shared([], { advanced, replicas: 3, minWritten: 2 }).doubts).toEqual([]);
  });

  it('request no more copies than the command has nodes, and name the nodes it was not given', () => {
    const { settings, doubts } = shared([processOf({ minWritten: 3 })], { beanstalks: ['a:1', 'c:1'] });
    expect(settings).toMatchObject({ replicas: 2, minWritten: 2 });
    expect(doubts).toEqual(['processes also use nodes that are not listed here: b:1']);
  });

  it('remember an end for four leases, if the lease was given', () => {
    expect(shared([processOf({ doneTtl: 80_000 })], { advanced: { lease: '30s' } }).settings.doneTtl).toBe(
      120_000,
    );
  });
});
