import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { CopyHeader } from '../../copies/header.js';
import type { ClaimAnswer, SettledCopies } from '../../ledger/requests.js';
import type { SettleQueue } from '../../ledger/settle-queue.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { ScriptedLedger } from '../../../spec-support/scripted-ledger.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { Claims, type ClaimTaker } from './claim-queue.js';
import type { Delivery } from '../reserve/delivery.js';

const LEASE = 15_000;
/** Priorities begin in 2020. */
const T = Date.UTC(2030, 0, 1);
const RUN: ClaimAnswer = { kind: 'run', fence: 1, attempt: 1, due: 0 };

describe('Claims', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let claims: Claims;
  let free: number;
  let ours: Set<string>;
  let settled: SettledCopies[];
  /** What the claims came to: `run job-1`, `early job-1`, … */
  let told: string[];
  let onRun: () => void;
  const { lane, connection, said } = recordingLane();
  connection.prompt = true;

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new ScriptedLedger(clock);
    free = 10;
    ours = new Set();
    settled = [];
    told = [];
    onRun = () => undefined;
    said.length = 0;
    const taker: ClaimTaker = {
      freeSlots: () => free,
      sparedFrom: undefined,
      ours: ({ header }) => ours.has(header.id),
      run: ({ header }, { attempt }, claimedAt) => {
        told.push(`run ${header.id} attempt ${attempt} claimed at ${claimedAt}`);
        onRun();
      },
      giveBack: ({ header }, _grant, claimedAt) =>
        told.push(`give ${header.id} back, claimed at ${claimedAt}`),
      early: ({ header, due }) => told.push(`early ${header.id} until ${due}`),
      gone: ({ header }) => told.push(`gone ${header.id}`),
      buried: ({ header }, why) => told.push(`buried ${header.id}${why ? ` of ${why}` : ''}`),
      trouble: ({ header }, error) => told.push(`trouble ${header.id} ${error.message}`),
      answered: () => told.push('answered'),
    };
    const settleQueue = { take: () => settled } as unknown as SettleQueue;
    const settings = { tube: 'tube', backupDelay: 2_000, lease: LEASE, attempts: 10 };
    claims = new Claims(ledger, settleQueue, clock, settings, taker);
  });

  function waiting(header: Partial<CopyHeader> & { copyId?: string }): Delivery {
    const delivery = heldDelivery(lane, header);
    claims.add(delivery);
    return delivery;
  }

  /** Claims one copy with the id 7 and tells what was said to the node and to the taker. */
  async function outcomeOf(answer: ClaimAnswer, index = 0): Promise<string[]> {
    waiting({ copyId: '7', index });
    claims.claim();
    await ledger.claims[0]!.answer(answer);
    return [...said, ...told.filter((text) => text !== 'answered')];
  }

  describe('asks', () => {
    it('for all that have a slot, in one call, with what settled meanwhile', () => {
      settled = [{ id: 'old', generation: 0, mask: 1, unknown: false }];
      free = 2;
      const [first, second] = [
        waiting({ due: T }),
        waiting({ due: T + 2_000, attempts: 3, generation: 4, born: 2 }),
      ];
      waiting({ due: T + 3_000 });
      claims.claim();
      expect(ledger.claims).toHaveLength(1);
      expect(ledger.claims[0]!.requests).toEqual([
        { id: first.header.id, generation: 0, born: 0, due: T, token: first.token, attempts: 10 },
        { id: second.header.id, generation: 4, born: 2, due: T + 2_000, token: second.token, attempts: 3 },
      ]);
      expect(ledger.settled).toEqual([settled]);
      expect(claims.pending).toBe(2);
      expect(claims.size).toBe(1);
    });

    it('in several calls for many, first come first, and about no more than there are slots', () => {
      free = 150;
      const all = Array.from({ length: 160 }, (_, i) => waiting({ id: `job-${i}`, due: T + i * 1_000 }));
      claims.claim();
      const asked = ledger.claims.map(({ requests }) => requests.map(({ id }) => id));
      expect(asked.map(({ length }) => length)).toEqual([128, 22]);
      expect(asked.flat()).toEqual(all.slice(0, 150).map(({ header }) => header.id));
      expect([claims.pending, claims.size]).toEqual([150, 10]);
    });

    it('nothing without a slot, or without a copy', () => {
      free = 0;
      waiting({});
      claims.claim();
      free = -1;
      claims.claim();
      expect(ledger.claims).toEqual([]);
      expect(claims.size).toBe(1);
    });

    it('in the order of priority, then of time, backups after the primaries of their minute', () => {
      const low = waiting({ priority: 2, due: T });
      const backup = waiting({ due: T, index: 1 });
      const later = waiting({ due: T + 30_000 });
      const sooner = waiting({ due: T });
      const high = waiting({ priority: 0, due: T + 366 * 86_400_000 });
      claims.claim();
      const asked = ledger.claims[0]!.requests.map(({ token }) => token);
      expect(asked).toEqual([high, sooner, later, backup, low].map(({ token }) => token));
    });

    it('not about a job that this process runs: its copy goes for a lease and its own stagger', () => {
      ours.add('mine');
      waiting({ id: 'mine', copyId: '1' });
      waiting({ id: 'mine', copyId: '2', index: 2 });
      claims.claim();
      expect(ledger.claims).toEqual([]);
      expect(said.toSorted()).toEqual(['release 1 pri 15', 'release 2 pri 19']);
    });

    it('with a token of its own for each delivery', () => {
      const tokens = [waiting({ id: 'same' }), waiting({ id: 'same' })].map(({ token }) => token);
      expect(new Set(tokens).size).toBe(2);
    });
  });

  describe('on RUN', () => {
    it('runs it, as claimed when the call was sent', async () => {
      await clock.advance(500);
      const delivery = waiting({ copyId: '7' });
      claims.claim();
      await clock.advance(300);
      await ledger.claims[0]!.answer({ ...RUN, attempt: 3 });
      expect(told).toEqual([`run ${delivery.header.id} attempt 3 claimed at 500`, 'answered']);
      expect(said).toEqual([]);
      expect(claims.pending).toBe(0);
    });

    it('holds what was granted ahead of its time until then, in its slot', async () => {
      waiting({ copyId: '7' });
      claims.claim();
      await ledger.claims[0]!.answer({ ...RUN, due: 15 });
      expect([told, claims.pending]).toEqual([['answered'], 1]);
      await clock.advance(14);
      expect(told).toEqual(['answered']);
      await clock.advance(1);
      expect([told.at(-1), claims.pending]).toEqual([expect.stringContaining('run '), 0]);
    });

    it('gives back what was granted ahead, and comes to its time when its lease may be over', async () => {
      waiting({ copyId: '7' });
      claims.claim();
      await ledger.claims[0]!.answer({ ...RUN, due: LEASE });
      await clock.advance(LEASE);
      expect(told).toEqual(['answered', expect.stringContaining('back')]);
    });

    it('does not run what waits in the same answer behind a handler that blocks for the lease', async () => {
      waiting({ id: 'first', copyId: '1' });
      waiting({ id: 'second', copyId: '2' });
      claims.claim();
      onRun = () => jest.spyOn(clock, 'now').mockReturnValue(clock.now() + LEASE);
      await ledger.claims[0]!.answer(RUN, RUN);
      expect(told).toEqual([
        expect.stringContaining('run first'),
        expect.stringContaining('give second back'),
        'answered',
      ]);
      expect(said).toEqual([]);
    });

    it('still runs it when the answer took the lease less a second', async () => {
      waiting({ copyId: '7' });
      claims.claim();
      await clock.advance(LEASE - 1_000);
      await ledger.claims[0]!.answer(RUN);
      expect(told[0]).toMatch(/^run/);
    });

    it('gives it back when the answer took longer', async () => {
      const { header } = waiting({ copyId: '7' });
      claims.claim();
      await clock.advance(LEASE - 999);
      await ledger.claims[0]!.answer(RUN);
      expect(told).toEqual([`give ${header.id} back, claimed at 0`, 'answered']);
      expect(said).toEqual([]);
    });
  });

  describe('on WAIT', () => {
    it.each([1, 1_000, 1_024])('holds a primary of %i ms until then, by ledger time', async (ms) => {
      await clock.advance(5_000);
      expect(await outcomeOf({ kind: 'wait', ms })).toEqual([`early job-7 until ${5_000 + ms}`]);
    });

    it.each([
      [1_025, 0, 'release 7 pri 1'],
      [2_024, 0, 'release 7 pri 1'],
      [60_000, 0, 'release 7 pri 59'],
      [500, 1, 'release 7 pri 3'],
      [900, 2, 'release 7 pri 5'],
      [3_500, 1, 'release 7 pri 6'],
    ])('%i ms for copy %i: %s', async (ms, index, release) => {
      expect(await outcomeOf({ kind: 'wait', ms }, index)).toEqual([release]);
    });

    it('does not hold what its lane no longer holds', async () => {
      const delivery = waiting({});
      claims.claim();
      lane.release(delivery, 0, 0);
      await ledger.claims[0]!.answer({ kind: 'wait', ms: 10 });
      expect(told).toEqual(['answered']);
    });
  });

  describe('on BUSY', () => {
    it.each([
      [0, 0, 'release 7 pri 1'],
      [-5, 0, 'release 7 pri 1'],
      [1_001, 0, 'release 7 pri 2'],
      [14_999, 600_000, 'release 7 pri 15'],
    ])(
      'a primary goes for the rest of the lease, %i ms, and at least a second',
      async (ms, ranFor, release) => {
        expect(await outcomeOf({ kind: 'busy', ms, ranFor })).toEqual([release]);
      },
    );

    it.each([
      [5_000, 1_000, 1, 'release 7 pri 7'],
      [5_000, 1_000, 2, 'release 7 pri 9'],
      [5_000, 30_001, 1, 'release 7 pri 31'],
      [5_000, 600_000, 1, 'release 7 pri 60'],
      [90_000, 0, 1, 'release 7 pri 60'],
    ])('with %i ms left after %i ms, backup %i: %s', async (ms, ranFor, index, release) => {
      expect(await outcomeOf({ kind: 'busy', ms, ranFor }, index)).toEqual([release]);
    });
  });

  it('on GONE has the copy deleted and settled', async () => {
    expect(await outcomeOf({ kind: 'gone' })).toEqual(['gone job-7']);
  });

  it('on DEAD buries the copy, and says why only where this call found it', async () => {
    expect(await outcomeOf({ kind: 'dead', fresh: true })).toEqual(['bury 7', 'buried job-7 of attempts']);
    said.length = told.length = 0;
    waiting({ copyId: '8' });
    claims.claim();
    await ledger.claims[1]!.answer({ kind: 'dead', fresh: false });
    expect([...said, ...told]).toEqual(['bury 8', 'buried job-8', 'answered']);
  });

  it('on STALE buries the copy and says so', async () => {
    expect(await outcomeOf({ kind: 'stale' })).toEqual(['bury 7', 'buried job-7 of stale']);
  });

  it('acts on each answer of a call by itself', async () => {
    waiting({ copyId: '1', due: T });
    waiting({ copyId: '2', due: T + 2_000 });
    waiting({ copyId: '3', due: T + 3_000 });
    claims.claim();
    await ledger.claims[0]!.answer({ kind: 'stale' }, RUN, { kind: 'busy', ms: 1, ranFor: 1 });
    expect(said).toEqual(['bury 1', 'release 3 pri 1']);
    expect(told).toEqual(['buried job-1 of stale', 'run job-2 attempt 1 claimed at 0', 'answered']);
  });

  describe('without an answer', () => {
    beforeEach(() => {
      ledger.away = true;
    });

    it('asks again with the same token, keeping its place in the order', async () => {
      const [first, second] = [waiting({ due: T }), waiting({ due: T + 2_000 })];
      free = 1;
      claims.claim();
      await ledger.claims[0]!.fail();
      expect(claims.pending).toBe(0);
      expect(claims.size).toBe(2);
      expect(told).toEqual(['answered']);
      free = 2;
      claims.claim();
      expect(ledger.claims).toHaveLength(1);
      await clock.advance(500);
      expect(told).toEqual(['answered', 'answered']);
      claims.claim();
      expect(ledger.claims[1]!.requests.map(({ token }) => token)).toEqual([first.token, second.token]);
    });

    it('forgets what was lost meanwhile', async () => {
      const delivery = waiting({});
      claims.claim();
      lane.release(delivery, 0, 0);
      await ledger.claims[0]!.fail();
      expect(claims.size).toBe(0);
    });
  });

  describe('where the ledger answers, but fails', () => {
    it('finds the job that it fails at, which goes for a while, and claims the others', async () => {
      settled = [{ id: 'old', generation: 0, mask: 1, unknown: false }];
      for (const copyId of ['1', '2', '3', '4']) waiting({ copyId, due: T + Number(copyId) * 1_000 });
      claims.claim();
      const tokens = ledger.claims[0]!.requests.map(({ token }) => token);
      for (let i = 0; i < ledger.claims.length; i++) {
        const call = ledger.claims[i]!;
        if (call.requests.some(({ id }) => id === 'job-2')) await call.fail();
        else await call.answer(...call.requests.map(() => RUN));
      }
      const asked = ledger.claims.map(({ requests }) => requests.map(({ id }) => id).join());
      expect(asked).toEqual(['job-1,job-2,job-3,job-4', 'job-1,job-2', 'job-3,job-4', 'job-1', 'job-2']);
      expect(ledger.claims[3]!.requests[0]!.token).toBe(tokens[0]);
      expect(ledger.settled).toEqual([settled, [], [], [], []]);
      expect(told.filter((text) => text.startsWith('run'))).toHaveLength(3);
      expect(told).toContain('trouble job-2 no answer');
      expect(said).toEqual(['release 2 pri 10']);
      expect(claims.pending).toBe(0);
    });

    it('a backup goes for its stagger longer, and nothing waits because of it', async () => {
      waiting({ copyId: '7', index: 2 });
      claims.claim();
      await ledger.claims[0]!.fail();
      expect(said).toEqual(['release 7 pri 14']);
      waiting({ copyId: '8' });
      claims.claim();
      expect(ledger.claims).toHaveLength(2);
    });
  });

  describe('what waits without a slot', () => {
    beforeEach(() => {
      free = 0;
    });

    it('goes to others after 250 ms, beyond those that are kept', async () => {
      for (const copyId of ['1', '2', '3', '4']) waiting({ copyId, due: T + Number(copyId) * 1_000 });
      await clock.advance(250);
      claims.releaseSurplus(2);
      expect(said).toEqual([]);
      await clock.advance(1);
      claims.releaseSurplus(2);
      expect(said).toEqual(['release 3 pri 0', 'release 4 pri 0']);
      expect(claims.size).toBe(2);
    });

    it('stays when it came only just now', async () => {
      waiting({ copyId: '1', due: T + 5_000 });
      await clock.advance(300);
      waiting({ copyId: '2', due: T + 9_000 });
      claims.releaseSurplus(0);
      expect(said).toEqual(['release 1 pri 0']);
      expect(claims.size).toBe(1);
    });

    it('stays as long as it likes where no more waits than is kept', async () => {
      waiting({});
      waiting({});
      await clock.advance(60_000);
      claims.releaseSurplus(2);
      expect(said).toEqual([]);
      expect(claims.size).toBe(2);
    });

    it('is forgotten when it is removed or taken', () => {
      const delivery = waiting({});
      const other = waiting({});
      claims.remove(delivery);
      claims.remove(delivery);
      expect(claims.takeAll()).toEqual([other]);
      free = 10;
      claims.claim();
      expect(ledger.claims).toEqual([]);
    });
  });
});
