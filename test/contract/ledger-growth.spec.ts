// Size of a record, however often its key was used, and whatever became of it.
import { describe, expect, it } from '@jest/globals';
import type { CommitRequest, SettledCopies } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { adding, everyLedger, expectAbout, KEPT, MINUTE, OLD, placesOf, THREE } from './ledger-jobs.js';

const KILOBYTE = 1_024;
const BATCH = 250;
const BATCHES = 20;

everyLedger((jobs) => {
  const { abort, add, claim, done, forgottenIn, nowMs, opened, run, settle, size } = jobs;

  /** Opens `count` adds of one key together. */
  async function openMany(count = BATCH, onDuplicate?: 'keep'): Promise<number[]> {
    const due = nowMs() + MINUTE;
    const ask = { id: 'job', opening: adding(onDuplicate), due, announced: THREE.mask };
    const answers = await jobs.tube.open(Array.from({ length: count }, () => ask));
    return answers.map((answer) => (answer.kind === 'opened' ? answer.generation : -1));
  }

  const stored = (generation: number, over: Partial<CommitRequest> = {}): CommitRequest => ({
    id: 'job',
    opening: adding(),
    generation,
    born: generation,
    due: nowMs() + MINUTE,
    announced: THREE.mask,
    owed: THREE,
    undecidedUntil: nowMs() + MINUTE,
    places: placesOf('node-with-a-long-name.example.org'),
    ...over,
  });

  const settled = (generation: number): SettledCopies => ({
    id: 'job',
    generation,
    mask: THREE.mask,
    unknown: false,
  });

  /** All generations but the last. */
  async function replaceOften(): Promise<number[]> {
    const all: number[] = [];
    for (let i = 0; i < BATCHES; i++) {
      const generations = await openMany();
      await jobs.tube.commit(generations.map((generation) => stored(generation)));
      all.push(...generations);
    }
    return all;
  }

  describe('a key that is replaced 5,000 times', () => {
    it('has a small record, which is forgotten soon after the end once every copy is settled', async () => {
      const generations = await replaceOften();
      expect(await size()).toBeLessThan(KILOBYTE);
      const last = generations.pop()!;
      await jobs.tube.settle(generations.map(settled));
      expect(await size()).toBeLessThan(KILOBYTE);
      await jobs.revokeKey();
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      await settle(THREE.mask, { generation: last });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('has a record that is kept while a single copy of any of them may exist', async () => {
      const generations = await replaceOften();
      await jobs.revokeKey();
      const one = generations[2_345]!;
      await jobs.tube.settle(
        generations.map((each) => (each === one ? { ...settled(each), mask: 0b101 } : settled(each))),
      );
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      await settle(0b010, { generation: one });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });
  });

  it('counts the copies that were stored, of what became the job and of what did not', async () => {
    const partly = { owed: { mask: 0b011, unknown: false } };
    const [first, second, third] = (await openMany(3)) as [number, number, number];
    await jobs.tube.commit([stored(second, partly), stored(first, partly)]); // refused: an older one
    await abort(third, { owed: { mask: 0b100, unknown: false } });
    await jobs.revokeKey();
    await settle(0b011, { generation: first });
    await settle(0b011, { generation: second });
    expectAbout(await forgottenIn(), MINUTE + KEPT);
    await settle(0b100, { generation: third });
    expectAbout(await forgottenIn(), SETTINGS.doneTtl);
  });

  it('takes no copy that is settled twice for another one', async () => {
    const generation = await add();
    await done(await run({ generation }));
    for (const mask of [0b001, 0b001, 0b001, 0b010, 0b010, 0b011]) await settle(mask, { generation });
    await settle(0b111, { generation: generation - 1 });
    await settle(0b111, { generation: generation + 1 });
    expectAbout(await forgottenIn(), KEPT);
  });

  it('still owes an opened generation that was never reported again: its process may have died', async () => {
    const lost = await opened();
    const generation = await add();
    await jobs.revokeKey();
    await settle(THREE.mask, { generation });
    expectAbout(await forgottenIn(), KEPT);
    await settle(THREE.mask, { generation: lost });
    expectAbout(await forgottenIn(), SETTINGS.doneTtl);
  });

  describe('a key whose adds keep failing', () => {
    const COPY = { owed: { mask: 0b001, unknown: false } };

    /** The answer to such an add, with its generation and one that was opened and then abandoned. */
    async function fail() {
      const generation = await opened();
      const between = await opened();
      return { answer: await abort(generation, COPY), generations: [generation, between] };
    }

    it('has a small record, and says which of them it cannot remember', async () => {
      const answers: string[] = [];
      const { generations } = await fail();
      for (let i = 0; i < 100; i++) answers.push((await fail()).answer);
      expect(await size()).toBeLessThan(KILOBYTE);
      expect(new Set(answers)).toEqual(new Set(['aborted', 'full']));
      expect(answers.lastIndexOf('aborted')).toBeLessThan(answers.indexOf('full'));
      await expect(claim({ generation: generations[0] })).resolves.toEqual({ kind: 'gone' });
    });

    it('remembers them again once their copies are settled', async () => {
      const failed = [await fail()];
      while (failed.at(-1)!.answer === 'aborted') failed.push(await fail());
      await jobs.tube.settle(
        failed.flatMap(({ generations: [one, other] }) => [
          { ...settled(one!), mask: 0b001 },
          settled(other!),
        ]),
      );
      await expect(abort(await opened(), COPY)).resolves.toBe('aborted');
    });

    it('remembers one of which a copy of unknown fate may exist', async () => {
      const generation = nowMs() - OLD; // Redis has lost its opening
      await abort(generation, { owed: { mask: 0b001, unknown: true } });
      await settle(0b001, { generation });
      await expect(claim({ generation })).resolves.toEqual({ kind: 'gone' });
      expectAbout(await forgottenIn(), KEPT);
    });

    it('owes nothing where nothing was stored, and need not remember that', async () => {
      for (let i = 0; i < 50; i++) {
        await expect(abort(await opened(), { owed: { mask: 0, unknown: false } })).resolves.toBe('aborted');
      }
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      expect(await size()).toBeLessThan(KILOBYTE / 2);
    });

    it('remembers those of a burst, of which one came first', async () => {
      const [first, ...others] = await openMany(BATCH, 'keep');
      const opening = adding('keep');
      const commits = [first!, ...others].map((generation) => stored(generation, { opening }));
      const answers = await jobs.tube.commit(commits);
      expect(answers.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
      expect(await size()).toBeLessThan(KILOBYTE);
      for (const generation of [others[0]!, others[100]!, others.at(-1)!]) {
        await expect(claim({ generation })).resolves.toEqual({ kind: 'gone' });
      }
    });
  });
});
