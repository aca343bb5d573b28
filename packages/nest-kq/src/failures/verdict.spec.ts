import { describe, expect, it } from '@jest/globals';
import { Discard, Retry } from '../api/outcome.js';
import { resolveFailureOptions, type RetryOptions } from './failure-options.js';
import { verdictOf } from './verdict.js';

const settingsOf = (retry: RetryOptions = {}) =>
  resolveFailureOptions({ retry, deadLetter: 'drop' }, { topics: ['t'], group: 'g', dq: false });
const slip = new Error('slip');

describe('verdictOf', () => {
  it('lets a message run again after the backoff, until its attempts are used up', () => {
    const verdicts = [1, 2, 3].map((attempt) => verdictOf(slip, attempt, settingsOf()));
    expect(verdicts).toEqual([
      { kind: 'again', after: 1_000, error: slip, runs: 1 },
      { kind: 'again', after: 2_000, error: slip, runs: 2 },
      { kind: 'dead', death: { why: 'attempts', error: slip, runs: 3 } },
    ]);
    expect(verdictOf(slip, 60, settingsOf({ attempts: 100 }))).toMatchObject({ after: 60_000 });
    const asked = settingsOf({ backoff: (attempt, { message }) => attempt * 10 + message.length });
    expect(verdictOf(slip, 2, asked)).toMatchObject({ after: 24 });
  });

  it('obeys Retry and Discard', () => {
    expect(verdictOf(Retry.after(7, slip), 1, settingsOf())).toEqual({
      kind: 'again',
      after: 7,
      error: slip,
      runs: 1,
    });
    expect(verdictOf(Retry.after('7s', slip), 1, settingsOf())).toMatchObject({ after: 7_000 });
    expect(verdictOf(slip, 1, settingsOf({ backoff: () => '3s' }))).toMatchObject({ after: 3_000 });
    expect(verdictOf(Retry.after(7), 3, settingsOf())).toMatchObject({
      kind: 'dead',
      death: { why: 'attempts', error: { message: 'retry after 7 ms' } },
    });
    expect(verdictOf(Discard.because('gone'), 1, settingsOf())).toMatchObject({
      kind: 'dead',
      death: { why: 'discarded', error: { name: 'Discard', message: 'gone' }, runs: 1 },
    });
  });

  it.each<[unknown, string]>([
    [Retry.after(-1), 'the delay of Retry.after is -1: negative; expected milliseconds'],
    [Retry.after('30' as unknown as number), "the delay of Retry.after is '30': no unit; expected"],
    [Object.assign(new Error('again'), { '~outcome': 'again' }), "the outcome is 'again': expected Retry"],
  ])('takes a slip as a failure: %p', (thrown, why) => {
    const verdict = verdictOf(thrown, 1, settingsOf());
    expect(verdict).toMatchObject({ kind: 'again', after: 1_000, error: { code: 'KQ_BAD_OPTION' } });
    expect(verdict.kind === 'again' && verdict.error.message).toContain(why);
  });

  it('makes an error of anything that was thrown', () => {
    const verdict = verdictOf(undefined, 1, settingsOf());
    expect(verdict).toMatchObject({ error: { message: 'a non-Error value was thrown: undefined' } });
  });

  it.each<[RetryOptions['backoff'], string]>([
    [() => NaN, 'it returned NaN: not a finite number; expected milliseconds'],
    [() => -5, 'it returned -5'],
    [(() => Promise.reject(slip)) as unknown as () => number, 'it returned Promise'],
    [
      () => {
        throw new Error('oops');
      },
      'oops',
    ],
  ])('reports a backoff that fails, and waits the default: %p', (backoff, why) => {
    const verdict = verdictOf(slip, 2, settingsOf({ backoff }));
    expect(verdict).toMatchObject({ kind: 'again', after: 2_000, error: { cause: slip } });
    expect(verdict.kind === 'again' && verdict.error.message).toContain(
      `the handler's \`backoff\` failed after «slip»: ${why}`,
    );
  });
});
