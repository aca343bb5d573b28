import { describe, expect, it } from '@jest/globals';
import { ForbiddenException, UnauthorizedException } from '@nestjs/common';
import { NOTES } from '../spec-support/notes.js';
import type { Enhancers } from './enhancers.js';
import { EnhancerAdvice } from './enhancer-advice.js';

const NONE: Enhancers = { guards: [], interceptors: [], pipes: [], filters: [] };

function told(enhancers: Partial<Enhancers>, tell: (advice: EnhancerAdvice) => void): string[] {
  const lines: string[] = [];
  const logger = { warn: (message: string) => lines.push(message) };
  tell(new EnhancerAdvice(NOTES, logger, { ...NONE, ...enhancers }, 'Orders', 'cancel'));
  return lines;
}

function slip(...frames: string[]): TypeError {
  const error = new TypeError('there is no request');
  error.stack = ['TypeError: there is no request', ...frames.map((each) => `    at ${each} (x.js:1:1)`)].join(
    '\n',
  );
  return error;
}

describe('what is made for requests', () => {
  it.each<[string, Partial<Enhancers>, string[], string]>([
    [
      'a guard',
      { guards: ['A', 'B'] },
      ['B.canActivate', 'target'],
      'the guard B failed on a note of Orders.cancel: ',
    ],
    ['an async guard', { guards: ['A'] }, ['readToken', 'async A.canActivate'], 'the guard A failed'],
    ['an interceptor', { interceptors: ['Cache'] }, ['Cache.intercept'], 'the interceptor Cache failed'],
  ])('is named by the stack: %s', (_what, enhancers, frames, message) => {
    const lines = told(enhancers, (advice) => advice.attemptFailed(slip(...frames), false));
    expect(lines).toEqual([expect.stringContaining(message)]);
    expect(lines[0]).toContain('there is no request. ');
    expect(lines[0]).toContain('isNoteContext(context)');
  });

  it.each<[string, unknown]>([
    ['the handler’s own slip', slip('Orders.cancel', 'async Cache.intercept')],
    ['a slip that went through no enhancer', slip('Repo.find')],
    ['what a guard throws on purpose', new UnauthorizedException()],
    ['a refusal in other words', new ForbiddenException('not today')],
    ['what is no error', 'text'],
  ])('is not blamed for %s', (_what, thrown) => {
    const enhancers = { guards: ['A'], interceptors: ['Cache'] };
    expect(told(enhancers, (advice) => advice.attemptFailed(thrown, false))).toEqual([]);
  });

  it('is one of the interceptors, when the handler had returned and no stack shows which', () => {
    const interceptors = ['Cache', 'Timing', 'Cache'];
    const late = (thrown: unknown) => (advice: EnhancerAdvice) => advice.attemptFailed(thrown, true);
    expect(told({ guards: ['A'], interceptors }, late(slip('Object.next')))).toEqual([
      expect.stringContaining('the interceptor Cache or Timing failed on a note of Orders.cancel: '),
    ]);
    expect(told({ interceptors }, late(slip('Timing.end', 'Orders.cancel')))).toEqual([
      expect.stringContaining('the interceptor Timing failed'),
    ]);
    expect(told({ interceptors }, late(new Error('on purpose')))).toEqual([]);
    expect(told({ guards: ['A'] }, late(slip('Object.next')))).toEqual([]);
  });

  it('is named when a guard refuses, as far as can be known', () => {
    const refused = (advice: EnhancerAdvice) =>
      advice.attemptFailed(new ForbiddenException('Forbidden resource'), false);
    expect(told({ guards: ['A'] }, refused)).toEqual([
      expect.stringContaining('the guard A refused a note of Orders.cancel'),
    ]);
    expect(told({ guards: ['A', 'B'] }, refused)).toEqual([expect.stringContaining('one of A, B refused')]);
    expect(told({}, refused)).toEqual([]);
    expect(told({ guards: ['A'] }, refused)[0]).toContain(
      'also run before notes; detect those with isNoteContext(context)',
    );
  });

  it('is named when a filter fails: by the stack, or all that apply', () => {
    const filters = ['A', 'B'];
    const threw = (error: unknown) => (advice: EnhancerAdvice) => advice.filterThrew(error);
    expect(told({ filters }, threw(slip('BaseFilter.reply', 'B.catch')))).toEqual([
      expect.stringMatching(
        /^the exception filter B failed on a note of Orders\.cancel \(the original error is kept\): /,
      ),
    ]);
    expect(told({ filters }, threw(5))).toEqual([expect.stringContaining('filter A or B failed')]);
  });

  it('is named once', () => {
    const lines = told({ guards: ['A', 'B'], filters: ['F'] }, (advice) => {
      for (const guard of ['A', 'B', 'A']) advice.attemptFailed(slip(`${guard}.canActivate`), false);
      for (let i = 0; i < 2; i++) advice.filterThrew(slip('F.catch'));
    });
    expect(lines).toHaveLength(3);
  });
});
