import { beforeEach, describe, expect, it } from '@jest/globals';
import { BeanstalkError } from '../../beanstalk/codec/beanstalk-error.js';
import {
  recordingLane,
  heldDelivery,
  type RecordingConnection,
} from '../../../spec-support/recording-lane.js';
import { turn, type ScriptedLedger } from '../../../spec-support/scripted-ledger.js';
import { tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { Delivery } from '../reserve/delivery.js';
import type { Lane } from '../reserve/lane.js';
import { CopyBurier } from './copy-burier.js';
import type { CopyDeleter } from './copy-deleter.js';

describe('CopyBurier', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let reports: string[];
  let lane: Lane;
  let connection: RecordingConnection;
  let said: string[];
  let deleted: [delivery: Delivery, siblings: boolean][];
  let changes: number;
  let burier: CopyBurier;
  let delivery: Delivery;

  beforeEach(() => {
    clock = new VirtualClock();
    deleted = [];
    changes = 0;
    ({ lane, connection, said } = recordingLane());
    const context = tubeContext(clock);
    ({ ledger, reports } = context);
    const deleter = { delete: (...what: [Delivery, boolean]) => deleted.push(what) };
    context.life.copyGone = () => void changes++;
    burier = new CopyBurier(context, deleter as unknown as CopyDeleter);
    delivery = heldDelivery(lane, { id: 'job', copyId: '7', generation: 5, born: 3, index: 1 });
  });

  async function asked(times: number): Promise<void> {
    await clock.advance(0);
    await turn();
    expect(ledger.burials).toHaveLength(times);
  }

  const answer = (...answers: ('dead' | 'gone' | 'unknown')[]) => ledger.burials.at(-1)!.answer(...answers);
  const places = [{ index: 1, location: 'node#instance:7' }];

  it('says where a copy is, buries it, and asks again once the node has answered', async () => {
    burier.bury(delivery);
    await asked(1);
    expect(ledger.burials[0]!.requests).toEqual([{ id: 'job', generation: 5, born: 3, places }]);
    expect([said, delivery.held]).toEqual([[], true]);
    await answer('dead');
    expect([said, burier.size]).toEqual([['bury 7'], 1]);
    await asked(1);
    connection.answer('BURIED');
    await asked(2);
    expect(ledger.burials[1]!.requests).toEqual(ledger.burials[0]!.requests);
    expect(burier.size).toBe(1);
    await answer('dead');
    await asked(2);
    expect([said, deleted, burier.size]).toEqual([['bury 7'], [], 0]);
    expect(changes).toBeGreaterThan(0);
  });

  it('deletes the copy in hand if its letter has gone before', async () => {
    burier.bury(delivery);
    await asked(1);
    await answer('gone');
    expect([said, deleted, burier.size]).toEqual([[], [[delivery, false]], 0]);
  });

  it('deletes what it has buried if the letter has gone meanwhile', async () => {
    burier.buryNoted(delivery);
    expect(said).toEqual(['bury 7']);
    connection.answer('BURIED');
    await asked(1);
    await answer('gone');
    expect([deleted, burier.size]).toEqual([[[delivery, false]], 0]);
  });

  it('asks again if it is uncertain whether the copy was buried', async () => {
    burier.buryNoted(delivery);
    connection.answer(new BeanstalkError('CONNECTION_LOST', 'lost'));
    await asked(1);
    await answer('gone');
    expect(deleted).toEqual([[delivery, false]]);
  });

  it('releases a copy unknown to the ledger, for the next claim', async () => {
    burier.bury(delivery);
    await asked(1);
    await answer('unknown');
    expect([said, deleted, burier.size]).toEqual([['release 7 pri 0'], [], 0]);
  });

  it('leaves alone a buried copy unknown to the ledger: the job may have no other', async () => {
    burier.buryNoted(delivery);
    connection.answer('BURIED');
    await asked(1);
    await answer('unknown');
    expect([said, deleted, burier.size]).toEqual([['bury 7'], [], 0]);
  });

  it('leaves a copy that it no longer holds to whoever has it', async () => {
    burier.bury(delivery);
    await asked(1);
    lane.forget();
    await answer('dead');
    await asked(1);
    expect([said, deleted, burier.size]).toEqual([[], [], 0]);
    expect(changes).toBeGreaterThan(0);
  });

  it('holds the copy while the ledger does not answer, and reports the failure', async () => {
    burier.bury(delivery);
    await asked(1);
    ledger.away = true;
    await ledger.burials[0]!.fail();
    expect([said, delivery.held, burier.size, reports]).toEqual([[], true, 1, []]);
    ledger.away = false;
    await clock.advance(500);
    await asked(2);
    await ledger.burials[1]!.fail();
    expect([said, delivery.held, burier.size]).toEqual([[], true, 1]);
    expect(reports).toEqual(['ledger trouble job no answer']);
  });
});
