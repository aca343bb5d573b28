import { beforeEach, describe, expect, it } from '@jest/globals';
import { Call, ScriptedLedger, turn } from '../../spec-support/scripted-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { RetryingBatcher } from './batcher.js';

describe('RetryingBatcher', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let sent: Call<string, number>[];
  /** `item answer` of each answer, `item trouble` of each failure. */
  let told: string[];
  let calls: RetryingBatcher<string, number>;

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new ScriptedLedger(clock);
    sent = [];
    told = [];
    const ask = (items: readonly string[]) => {
      const call = new Call<string, number>(items);
      sent.push(call);
      return call.answers;
    };
    calls = new RetryingBatcher(ledger, clock, {
      call: ask,
      answered: (item, answer) => told.push(`${item} ${answer}`),
      trouble: (item, error) => told.push(`${item} trouble: ${error.message}`),
    });
  });

  const asked = () => sent.map(({ requests }) => requests.join());

  /** Answers all calls but those for `bad`, which fail. */
  async function answerAllBut(bad: string): Promise<void> {
    for (let i = 0; i < sent.length; i++) {
      if (sent[i]!.requests.includes(bad)) await sent[i]!.fail();
      else await sent[i]!.answer(...sent[i]!.requests.map((_, at) => at));
    }
  }

  it('asks once for all of a turn', async () => {
    calls.add('a');
    calls.add('b');
    expect(sent).toEqual([]);
    expect(calls.size).toBe(2);
    await turn();
    calls.add('c');
    await turn();
    expect(asked()).toEqual(['a,b', 'c']);
    expect(calls.size).toBe(3);
    await sent[0]!.answer(7, 8);
    expect(told).toEqual(['a 7', 'b 8']);
    expect(calls.size).toBe(1);
  });

  it('asks about at most 1,000 in a call', async () => {
    for (let i = 0; i < 2_500; i++) calls.add(String(i));
    await turn();
    expect(sent.map(({ requests }) => requests.length)).toEqual([1_000, 1_000, 500]);
    expect(calls.size).toBe(2_500);
  });

  it('asks again every 500 ms while the ledger is away, and reports nothing', async () => {
    ledger.away = true;
    calls.add('a');
    calls.add('b');
    await turn();
    for (let i = 0; i < 3; i++) {
      await sent[i]!.fail();
      expect(calls.size).toBe(2);
      await clock.advance(499);
      expect(sent).toHaveLength(i + 1);
      await clock.advance(1);
      expect(sent).toHaveLength(i + 2);
    }
    await sent[3]!.answer(1, 2);
    expect(told).toEqual(['a 1', 'b 2']);
    await clock.advance(10_000);
    expect(asked()).toEqual(['a,b', 'a,b', 'a,b', 'a,b']);
  });

  it('asks no sooner about what had no answer when more is added', async () => {
    ledger.away = true;
    calls.add('a');
    await turn();
    await sent[0]!.fail();
    calls.add('b');
    await turn();
    expect(asked()).toEqual(['a', 'b']);
    await clock.advance(500);
    expect(asked()).toEqual(['a', 'b', 'a']);
  });

  it('asks at once when it is flushed, and then no more', async () => {
    ledger.away = true;
    calls.add('a');
    await turn();
    await sent[0]!.fail();
    calls.flush();
    expect(sent).toHaveLength(2);
    await clock.advance(1_000);
    expect(sent).toHaveLength(2);
  });

  it('finds what the ledger fails at, so that it holds up no other', async () => {
    for (const item of ['a', 'b', 'bad', 'c', 'd']) calls.add(item);
    await turn();
    await answerAllBut('bad');
    expect(asked()).toEqual(['a,b,bad,c,d', 'a,b', 'bad,c,d', 'bad', 'c,d']);
    expect(told.toSorted()).toEqual(['a 0', 'b 1', 'bad trouble: no answer', 'c 0', 'd 1']);
    expect(calls.size).toBe(1);
  });

  it('asks slowly about that call, on its own, and reports it once until it is answered', async () => {
    calls.add('bad');
    await turn();
    await sent[0]!.fail();
    await clock.advance(9_999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    calls.add('a');
    await turn();
    await sent[1]!.fail();
    await clock.advance(10_000);
    expect(asked()).toEqual(['bad', 'bad', 'a', 'bad']);
    expect(told).toEqual(['bad trouble: no answer']);
    await sent[3]!.answer(5);
    expect(told).toEqual(['bad trouble: no answer', 'bad 5']);
    await clock.advance(60_000);
    expect(sent).toHaveLength(4);
    calls.add('bad');
    await turn();
    await sent[4]!.fail();
    expect(told).toHaveLength(3);
  });

  it('asks nothing again once it is closed', async () => {
    for (const item of ['a', 'b']) calls.add(item);
    await turn();
    calls.add('c');
    calls.close();
    await sent[0]!.fail();
    calls.flush();
    await clock.advance(60_000);
    expect(asked()).toEqual(['a,b']);
    expect(told).toEqual([]);
  });

  it('asks nothing again once it is closed, about what it failed at neither', async () => {
    calls.add('bad');
    await turn();
    await sent[0]!.fail();
    calls.close();
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
  });
});
