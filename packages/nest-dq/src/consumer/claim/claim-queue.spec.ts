import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CopyHeader } from '../../copies/header.js';
import type { ClaimAnswer, SettledCopies } from '../../ledger/requests.js';
import type { SettleQueue } from '../../ledger/settle-queue.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import type { ScriptedLedger } from '../../../spec-support/scripted-ledger.js';
import { runOf, tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import { DEFAULT_HANDLER_SETTINGS } from '../run/handler-settings.js';
import type { Delivery } from '../reserve/delivery.js';
import { ClaimQueue } from './claim-queue.js';

/** Priorities begin in 2020. */
const T = Date.UTC(2030, 0, 1);
const GONE: ClaimAnswer = { kind: 'gone' };
const SETTLED: readonly SettledCopies[] = [{ id: 'old', generation: 0, mask: 1, unknown: false }];

describe('ClaimQueue', () => {
  let clock: VirtualClock;
  let context: ReturnType<typeof tubeContext>;
  let ledger: ScriptedLedger;
  let queue: ClaimQueue;
  /** Answers in order, such as `job-1 gone`. */
  let answers: string[];
  let changes: number;
  const { lane, connection, said } = recordingLane();
  connection.prompt = true;

  beforeEach(() => {
    clock = new VirtualClock();
    answers = [];
    changes = 0;
    said.length = 0;
    make(10);
  });

  function make(concurrency: number): void {
    const settleQueue = { take: () => SETTLED } as unknown as SettleQueue;
    const life = { arrived: () => false, changed: () => void changes++, copyGone: () => undefined };
    const handling = { ...DEFAULT_HANDLER_SETTINGS, concurrency };
    context = tubeContext(clock, { settleQueue, handling, life });
    ({ ledger } = context);
    queue = new ClaimQueue(context);
  }

  function waiting(header: Partial<CopyHeader> & { copyId?: string }): Delivery {
    const delivery = heldDelivery(lane, header);
    hold(delivery, 0);
    return delivery;
  }

  function hold(delivery: Delivery, until: number): void {
    void queue.claim(delivery, until).then((claim) => {
      if (!claim) return answers.push(`${delivery.header.id} let go`);
      context.budget.claiming--;
      return answers.push(`${delivery.header.id} ${claim.answer.kind}, asked at ${claim.sent.at}`);
    });
  }

  const asked = () => ledger.claims.map(({ requests }) => requests.map(({ id }) => id).join());

  describe('asks', () => {
    it('for all that have a slot, in one call, with what settled meanwhile', async () => {
      make(2);
      const [first, second] = [
        waiting({ due: T }),
        waiting({ due: T + 2_000, attempts: 3, generation: 4, born: 2 }),
      ];
      waiting({ due: T + 3_000 });
      await clock.advance(70);
      queue.advance();
      queue.advance();
      expect(ledger.claims.map(({ requests }) => requests)).toEqual([
        [
          { id: first.header.id, generation: 0, born: 0, due: T, token: first.token, attempts: 10 },
          { id: second.header.id, generation: 4, born: 2, due: T + 2_000, token: second.token, attempts: 3 },
        ],
      ]);
      expect(ledger.settled).toEqual([SETTLED]);
      expect([context.budget.claiming, queue.due]).toEqual([2, 1]);
      await clock.advance(5);
      await ledger.claims[0]!.answer(GONE, GONE);
      expect(answers).toEqual([first, second].map(({ header }) => `${header.id} gone, asked at 70`));
      expect(context.budget.claiming).toBe(0);
    });

    it('in several calls for many, first come first, and about at most as many as there are slots', () => {
      make(150);
      const all = Array.from({ length: 160 }, (_, i) => waiting({ id: `job-${i}`, due: T + i * 1_000 }));
      queue.advance();
      expect(ledger.claims.map(({ requests }) => requests.length)).toEqual([128, 22]);
      expect(asked().join()).toBe(
        all
          .slice(0, 150)
          .map(({ header }) => header.id)
          .join(),
      );
      expect([context.budget.claiming, queue.due]).toEqual([150, 10]);
    });

    it('in the order of priority, then of time, backups after the primaries of their minute', () => {
      waiting({ id: 'low', priority: 2, due: T });
      waiting({ id: 'backup', due: T, index: 1 });
      waiting({ id: 'later', due: T + 30_000 });
      waiting({ id: 'sooner', due: T });
      waiting({ id: 'high', priority: 0, due: T + 366 * 86_400_000 });
      queue.advance();
      expect(asked()).toEqual(['high,sooner,later,backup,low']);
    });

    it('not about a job that this process has run for a second: its copy is released for a lease and its own stagger', async () => {
      const run = runOf(heldDelivery(lane, { id: 'mine' }));
      context.runs.set('mine', run);
      await clock.advance(1);
      run.startedAt = clock.now();
      await clock.advance(1_000);
      waiting({ id: 'mine', copyId: '1' });
      waiting({ id: 'mine', copyId: '2', index: 2 });
      waiting({ id: 'mine', generation: 5 });
      queue.advance();
      expect(ledger.claims.flatMap(({ requests }) => requests.map(({ generation }) => generation))).toEqual([
        5,
      ]);
      expect(said.toSorted()).toEqual(['release 1 pri 15', 'release 2 pri 19']);
    });

    it('about a copy of a job whose run has just begun once that is over, and holds it until then', async () => {
      const run = runOf(heldDelivery(lane, { id: 'mine' }));
      context.runs.set('mine', run);
      waiting({ id: 'mine', copyId: '1' });
      queue.advance();
      run.startedAt = clock.now();
      for (let ms = 0; ms < 500; ms += 100) {
        await clock.advance(100);
        queue.advance();
      }
      expect([ledger.claims.length, said]).toEqual([0, []]);
      context.runs.delete('mine');
      await clock.advance(100);
      queue.advance();
      expect(ledger.claims.flatMap(({ requests }) => requests.map(({ id }) => id))).toEqual(['mine']);
    });

    it('with a token of its own for each delivery', () => {
      const tokens = [waiting({ id: 'same' }), waiting({ id: 'same' })].map(({ token }) => token);
      expect(new Set(tokens).size).toBe(2);
    });
  });

  it('asks again with the same token, keeping its place in the order, and not about what was lost meanwhile', async () => {
    ledger.away = true;
    const [first, second, lost] = [waiting({ due: T }), waiting({ due: T + 2_000 }), waiting({ due: T })];
    queue.advance();
    lane.release(lost, 0);
    await ledger.claims[0]!.fail();
    expect([context.budget.claiming, queue.due]).toEqual([0, 2]);
    queue.advance();
    expect(ledger.claims).toHaveLength(1);
    await clock.advance(499);
    const before = changes;
    await clock.advance(1);
    expect(changes).toBeGreaterThan(before);
    queue.advance();
    expect(ledger.claims[1]!.requests.map(({ token }) => token)).toEqual([first.token, second.token]);
  });

  it('finds the job that the ledger fails at, releases it for a while, and claims the others', async () => {
    for (const copyId of ['1', '2', '3', '4'])
      waiting({ copyId, index: copyId === '2' ? 2 : 0, due: T + Number(copyId) * 1_000 });
    queue.advance();
    const tokens = ledger.claims[0]!.requests.map(({ token }) => token);
    for (let i = 0; i < ledger.claims.length; i++) {
      const call = ledger.claims[i]!;
      if (call.requests.some(({ id }) => id === 'job-2')) await call.fail();
      else await call.answer(...call.requests.map(() => GONE));
    }
    expect(
      ledger.claims.flatMap(({ requests }) => requests).every(({ token }) => tokens.includes(token)),
    ).toBe(true);
    expect(ledger.settled).toEqual([SETTLED, [], [], [], []]);
    expect(answers.toSorted()).toEqual([
      'job-1 gone, asked at 0',
      'job-2 let go',
      'job-3 gone, asked at 0',
      'job-4 gone, asked at 0',
    ]);
    expect(context.reports).toEqual(['ledger trouble job-2 no answer']);
    expect([said, context.budget.claiming]).toEqual([['release 2 pri 14'], 0]);
  });

  describe('what waits without a slot', () => {
    beforeEach(() => {
      make(2);
      context.budget.handling = 2;
    });

    it('is released after 250 ms, beyond those that will soon have one, and is not claimed', async () => {
      for (const copyId of ['1', '2', '3', '4']) waiting({ copyId, due: T + Number(copyId) * 1_000 });
      await clock.advance(200);
      waiting({ copyId: '5', due: T + 9_000 });
      expect(said).toEqual([]);
      await clock.advance(150);
      expect(said).toEqual(['release 3 pri 0', 'release 4 pri 0']);
      await clock.advance(300);
      expect([said.at(-1), queue.due]).toEqual(['release 5 pri 0', 2]);
      queue.advance();
      expect(ledger.claims).toEqual([]);
    });

    it('is forgotten when it is removed, and released with early copies', () => {
      const [delivery] = [waiting({}), waiting({ copyId: '8' })];
      queue.lost(delivery);
      queue.lost(delivery);
      hold(heldDelivery(lane, { copyId: '9' }), T);
      expect(queue.size).toBe(2);
      queue.releaseAll();
      expect([said.toSorted(), queue.size]).toEqual([['release 8 pri 0', 'release 9 pri 0'], 0]);
    });
  });
});
