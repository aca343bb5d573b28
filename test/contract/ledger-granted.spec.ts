// Keys: a run that is granted decides against every schedule that was opened before it, and not committed yet.
import { describe, expect, it } from '@jest/globals';
import type { RunRef } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { adding, everyLedger, expectAbout, KEPT, MINUTE, NONE, OLD, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, add, claim, commit, complete, done, find, forgottenIn } = jobs;
  const { nowMs, opened, revokeKey, run, settle, size } = jobs;
  const later = () => ({ due: nowMs() + MINUTE });
  const moving = (expected: number) => ({ by: 'move', expected }) as const;

  describe('a generation that was opened before a run of the present one was granted', () => {
    it.each([
      ['is done', (ref: RunRef) => done(ref)],
      ['waits for a retry', (ref: RunRef) => complete(ref, { kind: 'retry', ...later() })],
      ['is handed back', (ref: RunRef) => complete(ref, { kind: 'back' })],
      ['is dead', (ref: RunRef) => complete(ref, { kind: 'dead', death: { why: 'discarded' }, places: [] })],
    ] as const)('never runs, nor can it be committed, when that run %s', async (_end, finish) => {
      const present = await add();
      const next = await opened(later());
      await finish(await run({ generation: present }));
      await expect(claim({ generation: next, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(next)).resolves.toMatchObject({
        kind: 'refused',
        why: 'changed',
        present: { generation: present },
      });
      await expect(find()).resolves.toMatchObject({ generation: present });
    });

    it('never runs when that run was lost, which is granted again', async () => {
      const present = await add();
      const next = await opened(later());
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      await short.claim([jobs.copy({ generation: present })]);
      await jobs.harness.until(short, short.now() + 40);
      await expect(claim({ generation: next, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: present, token: 'b' })).resolves.toMatchObject({
        kind: 'run',
        attempt: 2,
      });
    });

    it('never runs, of however many there are, nor when it would move the job', async () => {
      const present = await add();
      const nexts = [
        await opened(later()),
        await opened({ ...later(), opening: moving(present) }),
        await opened(later()),
      ];
      await done(await run({ generation: present }));
      for (const generation of nexts)
        await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('never runs where the present one was itself adopted by its claim', async () => {
      const present = nowMs() - OLD;
      const next = await opened(later());
      await done(await run({ generation: present }));
      await expect(claim({ generation: next, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('certainly did not count, and may be taken back', async () => {
      const present = await add();
      const next = await opened(later());
      await done(await run({ generation: present }));
      await add();
      await expect(commit(next)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
      await expect(abort(next)).resolves.toBe('aborted');
    });

    it('was not revoked by a later revoke of the key, so that its caller stores it again', async () => {
      const present = await add();
      const next = await opened(later());
      await done(await run({ generation: present }));
      await expect(revokeKey()).resolves.toBe('done');
      await expect(commit(next)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
    });
  });

  describe('a generation that was opened', () => {
    it('during a run can take its place, even after a repeated claim', async () => {
      const present = await add();
      await run({ generation: present });
      const next = await opened(later());
      await expect(claim({ generation: present })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
      await expect(commit(next)).resolves.toMatchObject({
        kind: 'committed',
        replaced: { generation: present, state: 'running' },
      });
    });

    it('can take the place of a job whose claim had to wait', async () => {
      const present = await add(later());
      const next = await opened();
      await expect(claim({ generation: present, ...later() })).resolves.toMatchObject({ kind: 'wait' });
      await expect(commit(next)).resolves.toMatchObject({ kind: 'committed' });
      await expect(claim({ generation: next })).resolves.toMatchObject({ kind: 'run' });
    });

    /** All copies of a job were deleted, and of the one that was to replace it. */
    async function settledAll(unknown = false) {
      const present = await add(later());
      const next = await opened();
      await settle(THREE.mask, { generation: present });
      await settle(THREE.mask, { generation: next, unknown });
      return commit(next);
    }

    it('cannot be committed once all its copies were deleted', async () => {
      await expect(settledAll()).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
    });

    it('can be committed while a copy of it of unknown fate may exist', async () => {
      await expect(settledAll(true)).resolves.toMatchObject({ kind: 'committed' });
    });
  });

  describe('the record of a run that decided against others', () => {
    it('is small, and is kept while a copy of theirs may exist', async () => {
      const present = await add();
      const ask = { id: 'job', opening: adding(), ...later(), announced: THREE.mask };
      const answers = await jobs.tube.open(Array.from({ length: 250 }, () => ask));
      const generations = answers.map((answer) => (answer.kind === 'opened' ? answer.generation : -1));
      await done(await run({ generation: present }));
      expect(await size()).toBeLessThan(512);
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      const settled = [present, ...generations].map((generation) => {
        return { id: 'job', generation, mask: THREE.mask, unknown: false };
      });
      await jobs.tube.settle(settled.slice(1));
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      await jobs.tube.settle(settled.slice(0, 1));
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is kept for a copy of theirs of unknown fate that their process reports only then', async () => {
      const present = await add();
      const next = await opened();
      await done(await run({ generation: present }));
      await commit(next, { owed: { mask: 0b011, unknown: true } });
      for (const generation of [present, next]) await settle(THREE.mask, { generation });
      expectAbout(await forgottenIn(), KEPT);
    });
  });

  describe('where the ledger has lost what was committed, a generation', () => {
    it('still runs after an add of its key that failed', async () => {
      const present = nowMs() - OLD;
      await abort(await opened(later()), { owed: NONE });
      await expect(claim({ generation: present })).resolves.toMatchObject({ kind: 'run' });
    });

    it('that was taken back never runs, although its copies are left', async () => {
      const failed = await opened(later());
      await abort(failed);
      await opened(later());
      await done(await run({ generation: nowMs() - OLD }));
      await expect(claim({ generation: failed, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('never runs after an older one was granted, although another one was opened after it', async () => {
      const first = await opened(later());
      await opened(later());
      await done(await run({ generation: nowMs() - OLD }));
      await expect(claim({ generation: first, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(first)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
    });

    it('that was taken back before others were opened never runs, whichever of them does', async () => {
      const failed = nowMs() - 2 * OLD;
      await abort(failed);
      for (let i = 0; i < 2; i++) await opened(later());
      await done(await run({ generation: nowMs() - 3 * OLD }));
      await expect(claim({ generation: failed, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('still runs after an older one was granted while another one was opened', async () => {
      const [older, present] = [nowMs() - 2 * OLD, nowMs() - OLD];
      const next = await opened(later());
      await done(await run({ generation: older }));
      await expect(claim({ generation: next, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: present })).resolves.toMatchObject({ kind: 'run' });
    });
  });

  it('A generation that was taken back stays so over a grant that knows nothing of its opening', async () => {
    const present = await add();
    const lost = nowMs() + MINUTE;
    await abort(lost);
    await opened({ ...later(), announced: NONE.mask });
    await done(await run({ generation: present }));
    await expect(claim({ generation: lost, token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });
});
