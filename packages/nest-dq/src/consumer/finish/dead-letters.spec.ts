import { describe, expect, it } from '@jest/globals';
import { JobEnvelope } from '../../copies/formats/dq1.js';
import { deleteCopies } from '../../copies/deletion.js';
import type { Place } from '../../copies/location.js';
import type { HandlerMethod } from '../../api/job.js';
import { Again, Discard } from '../../api/outcome.js';
import type { Letter } from '../../ledger/requests.js';
import { copyBody } from '../../../spec-support/copy-body.js';
import { NONE, clock, consumingInEachTest, forEver, world } from '../../../spec-support/consuming.js';
import { byIndex, placesOf } from '../../../spec-support/noting.js';
import { stored } from '../../../spec-support/stored.js';

consumingInEachTest();

describe('a dead letter', () => {
  async function letters(): Promise<readonly Letter[]> {
    const page = await world.ledger.tube('tube').letters({ limit: 10, after: undefined });
    return page.letters;
  }

  const sorted = ({ places }: Letter) => [...places].sort(byIndex);

  it.each<[string, HandlerMethod, Partial<Letter>]>([
    [
      'whose attempts are used up',
      () => {
        throw new TypeError('no');
      },
      {
        why: 'attempts',
        attempt: 2,
        error: { name: 'TypeError', message: 'no', stack: expect.any(String) as never },
      },
    ],
    ['that was discarded', () => Discard.because('gone'), { why: 'discarded', attempt: 1 }],
  ])('%s names every copy, and all are buried', async (_what, handler, what) => {
    await world.process().consume(handler, { attempts: 2, backoff: { type: 'fixed', delay: 100 } });
    const { id, ref } = await world.add(1_000);
    await clock.advance(1_200);
    const [early] = await letters();
    expect(early).toMatchObject({ id, born: 0, ...what });
    expect(sorted(early!)).toEqual(placesOf(ref));
    await clock.advance(30_000);
    expect((await letters()).map(sorted)).toEqual([placesOf(ref)]);
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  it('of a job that ran again is that of its last generation, with its new places', async () => {
    let starts = 0;
    await world.process().consume(() => (++starts === 1 ? Again.after('5s') : Discard.because('gone')));
    const { id, ref } = await world.add(0);
    await clock.advance(60_000);
    const [letter, ...others] = await letters();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ id, born: 0, attempt: 1 });
    expect(letter!.generation).toBeGreaterThan(0);
    expect(sorted(letter!).map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const place of placesOf(ref)) expect(letter!.places).not.toContainEqual(place);
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  /** Puts one copy on the first node, and tells where it is. */
  function put(body: Buffer): Promise<Place> {
    const [observer] = world.observers;
    return new Promise((resolve) =>
      observer!.put('tube', [body], { priority: 1, delay: 0, ttr: 60 }, (_error, reply) => {
        const instance = world.process().cluster.nodes[0]!;
        void world
          .settle()
          .then(() =>
            resolve({ index: 0, location: `n0#${instance.instance}:${(reply as { id: string }).id}` }),
          );
      }),
    );
  }

  it.each([
    ['unreadable', 0, { why: 'invalid', attempt: 1 }],
    ['long overdue', -604_900_000, { why: 'stale', attempt: 0 }],
  ] as const)('of what is %s names the copy', async (_what, late, what) => {
    const worker = world.process();
    const dead = worker.events.collect('dead');
    let starts = 0;
    await worker.consume(() => void starts++);
    const job = { id: 'odd', due: clock.wall() + late, generation: 0, copies: 1, priority: 1 };
    const placed = put(copyBody(new JobEnvelope(job, { type: 'json', bytes: Buffer.from('{') }), 0));
    await clock.advance(1_000);
    const place = await placed;
    await clock.advance(1_000);
    expect(await letters()).toMatchObject([{ id: 'odd', born: 0, ...what, places: [place] }]);
    expect([starts, worker.reports]).toEqual([0, [`dead ${what.why}`]]);
    expect(dead).toMatchObject([{ letter: { id: 'odd', tube: 'tube', ...what } }]);
    expect(dead[0]!.letter).not.toHaveProperty('payload');
    expect(await world.copies()).toEqual({ ...NONE, buried: 1 });
  });

  it('of a job that killed its processes names its copies as they are found, each once', async () => {
    const [killed, other] = [world.process(), world.process()];
    await killed.consume(forEver, { attempts: 1 });
    const { id, ref } = await world.add(1_000);
    await clock.advance(2_000);
    killed.ledger.cut();
    await other.consume(forEver, { attempts: 1 });
    await clock.advance(15_000 + 60_000);
    expect((await letters()).map((letter) => ({ ...letter, places: sorted(letter) }))).toMatchObject([
      { id, why: 'attempts', attempt: 1, places: placesOf(ref).slice(1) },
    ]);
    expect(other.reports).toEqual(['dead attempts']);
    killed.ledger.restore();
    await world.settle();
    await world.stopped(killed.consumer!, 0);
    await clock.advance(60_000);
    expect((await letters()).map(sorted)).toEqual([placesOf(ref)]);
    expect(other.reports).toEqual(['dead attempts']);
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  it.each(['before its letter knows of the copy', 'before the node buries the copy'])(
    'leaves no copy behind if it is discarded %s',
    async (when) => {
      const worker = world.process();
      const tube = worker.ledger.tube('tube');
      const job = { id: 'old', due: clock.wall() - 604_900_000, generation: 0, copies: 1, priority: 1 };
      const placed = put(copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0));
      await world.settle();
      const place = await placed;
      const discard = async () => {
        const [letter] = await tube.discard([{ id: 'old', born: 0 }]);
        expect(letter?.places).toEqual(when.includes('letter') ? [] : [place]);
        // The copy is in the consumer's hand, so nobody else can delete it.
        expect(await deleteCopies(worker.parts, stored('tube'), letter!, [place])).toBe(false);
      };
      const buried = tube.buried.bind(tube);
      let asked = 0;
      tube.buried = async (requests) => {
        const isFirst = asked++ === 0;
        if (isFirst && when.includes('letter')) await discard();
        const answers = await buried(requests);
        if (isFirst && !when.includes('letter')) await discard();
        return answers;
      };
      await worker.consume(forEver);
      await clock.advance(1_000);
      expect(await letters()).toEqual([]);
      expect(await world.copies()).toEqual(NONE);
      expect(asked).toBe(when.includes('letter') ? 1 : 2);
    },
  );

  it('learns the places of its copies again after the ledger was away', async () => {
    const worker = world.process();
    const tube = worker.ledger.tube('tube');
    const buried = tube.buried.bind(tube);
    let asked = 0;
    tube.buried = async (requests) => {
      if (++asked > 1) return buried(requests);
      worker.ledger.cut();
      throw new Error('no answer');
    };
    await worker.consume(forEver);
    const job = { id: 'old', due: clock.wall() - 604_900_000, generation: 0, copies: 1, priority: 1 };
    const placed = put(copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0));
    await clock.advance(300);
    const place = await placed;
    worker.ledger.restore();
    await world.settle();
    expect((await letters())[0]!.places).toEqual([place]);
    await clock.advance(10_000);
    expect(asked).toBe(3); // the last time after the burial
    expect(await world.copies()).toEqual({ ...NONE, buried: 1 });
  });
});
