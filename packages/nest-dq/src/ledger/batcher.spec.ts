import { beforeEach, describe, expect, it } from '@jest/globals';
import { Call, ScriptedLedger, turn } from '../../spec-support/scripted-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { Batcher, type Batches } from './batcher.js';

describe('Batcher', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let sent: Call<string, number>[];
  let repeats: boolean[];
  let told: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new ScriptedLedger(clock);
    sent = [];
    repeats = [];
    told = [];
  });

  function make(batches: Partial<Batches<string, number>> = {}): Batcher<string, number> {
    return new Batcher(ledger, clock, {
      largest: 4,
      call: (items, repeat) => {
        const call = new Call<string, number>(items);
        sent.push(call);
        repeats.push(repeat);
        return call.answers;
      },
      answered: (items, answers, { at }) => told.push(`${items.join()} ${answers.join()} sent at ${at}`),
      unanswered: (items) => told.push(`${items.join()} unanswered`),
      failed: (item, error) => told.push(`${item} ${error.message}`),
      ...batches,
    });
  }

  const asked = () => sent.map(({ requests }) => requests.join());

  /** Answers all calls but those for `bad`, which fail. */
  async function answerAllBut(bad: string): Promise<void> {
    for (let i = 0; i < sent.length; i++) {
      if (sent[i]!.requests.includes(bad)) await sent[i]!.fail();
      else await sent[i]!.answer(...sent[i]!.requests.map((_, at) => at));
    }
  }

  it('sends all of a turn, at most the largest batch in a call, and returns when that was', async () => {
    const batcher = make();
    await clock.advance(70);
    for (const item of 'abcdef') batcher.add(item);
    expect(sent).toEqual([]);
    await turn();
    expect([asked(), batcher.size]).toEqual([['a,b,c,d', 'e,f'], 6]);
    await clock.advance(5);
    await sent[1]!.answer(1, 2);
    expect([told, batcher.size]).toEqual([['e,f 1,2 sent at 70'], 4]);
  });

  it('splits a failed call in half until the item is found, which holds up no other', async () => {
    const batcher = make({ largest: 5 });
    for (const item of ['a', 'b', 'bad', 'c', 'd']) batcher.add(item);
    await turn();
    await answerAllBut('bad');
    expect(asked()).toEqual(['a,b,bad,c,d', 'a,b', 'bad,c,d', 'bad', 'c,d']);
    expect(repeats).toEqual([false, true, true, true, true]);
    expect(told).toContain('bad no answer');
    expect([told.length, batcher.size]).toEqual([3, 0]);
  });

  it('asks about each separately after a failure, where a repeat costs something', async () => {
    make({ alone: true }).ask(['a', 'bad', 'c']);
    await answerAllBut('bad');
    expect(asked()).toEqual(['a,bad,c', 'a', 'bad', 'c']);
  });

  it('limits the calls in flight, and sends the rest in fewer', async () => {
    const batcher = make({ mostCalls: 1, tick: 'next' });
    batcher.add('a');
    await turn();
    for (const item of 'bcd') {
      batcher.add(item);
      await turn();
    }
    expect(asked()).toEqual(['a']);
    await sent[0]!.answer(0);
    expect(asked()).toEqual(['a', 'b,c,d']);
  });

  it.each(['away', 'closed'])(
    'splits nothing while the ledger is away, or once it is closed: %s',
    async (how) => {
      const batcher = make();
      batcher.ask(['a', 'b']);
      batcher.add('c');
      if (how === 'away') ledger.away = true;
      else batcher.close();
      await sent[0]!.fail();
      expect(told).toEqual(['a,b unanswered']);
      expect(asked()).toEqual(how === 'away' ? ['a,b', 'c'] : ['a,b']);
    },
  );
});
