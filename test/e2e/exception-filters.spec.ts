import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Catch,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
  type ModuleMetadata,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter } from '@nestjs/core';
import { Again, Discard, Retry } from 'nest-dq';
import { enhancedApps } from '../support/enhanced.js';
import { CustomerGone, fail, failing } from '../support/failing-work.js';
import { Audit, Filter, forget, seen } from '../support/noting-enhancers.js';

const start = enhancedApps();
afterEach(forget);

/** Answers a request, as most filters in most applications do. */
@Catch()
class HttpFilter implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): void {
    const response = host
      .switchToHttp()
      .getResponse<{ status(code: number): { json(body: unknown): void } }>();
    response.status(500).json({ message: error.message });
  }
}

describe('an exception filter', () => {
  it.each<[string, () => ModuleMetadata]>([
    ['a filter of its own', () => ({ providers: [{ provide: APP_FILTER, useClass: HttpFilter }] })],
    [
      'one that extends Nest’s',
      () => {
        @Catch()
        class AllFilter extends BaseExceptionFilter {}
        return { providers: [{ provide: APP_FILTER, useClass: AllFilter }] };
      },
    ],
  ])('made for requests leaves the failure what it is, and is named once: %s', async (_what, metadata) => {
    const { providers } = metadata();
    const app = await start({ providers: [failing(fail), ...providers!] });
    for (let i = 0; i < 2; i++) {
      await expect(app.failure('work', 1)).resolves.toEqual({
        name: 'CustomerGone',
        message: 'customer 42 is gone',
      });
    }
    expect(app.about('isDqContext')).toEqual([
      expect.stringMatching(
        /the exception filter (Http|All)Filter failed on a job of Work\.run \(the original error is kept\): /,
      ),
    ]);
  });

  it.each<[string, unknown, object | undefined]>([
    ['nothing', undefined, { why: 'attempts', error: { name: 'CustomerGone' } }],
    ['what it made of the error', { statusCode: 404 }, { why: 'attempts', error: { name: 'CustomerGone' } }],
    [
      'a Discard',
      Discard.because('nobody to ask'),
      { why: 'discarded', error: { message: 'nobody to ask' } },
    ],
  ])('that returns %s', async (_what, returned, letter) => {
    @Catch(CustomerGone)
    class Decide implements ExceptionFilter {
      catch(): unknown {
        return returned;
      }
    }
    const app = await start({ providers: [failing(fail, UseFilters(Decide))] });
    await expect(app.run('work', 1)).resolves.toMatchObject(letter!);
    expect(app.about('isDqContext')).toEqual([]);
  });

  it.each<[string, (error: unknown) => unknown, string, string[]]>([
    ['throws an Outcome', () => Discard.because('nobody to ask'), 'Discard', []],
    ['rethrows', (error) => error, 'CustomerGone', []],
    ['throws another error', () => new Error('another'), 'CustomerGone', ['Decide']],
  ])('that %s, at once or later', async (_what, make, name, named) => {
    @Catch()
    class Decide implements ExceptionFilter {
      async catch(error: unknown): Promise<never> {
        throw make(error);
      }
    }
    const app = await start({ providers: [failing(fail, UseFilters(Decide))] });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name });
    expect(app.about('isDqContext').map((line) => /filter (\w+)/.exec(line)![1])).toEqual(named);
  });

  it('does not see outcomes, thrown or returned', async () => {
    let outcome: unknown;
    let times = 0;
    const app = await start({
      providers: [
        failing(() => {
          times++;
          if (typeof outcome === 'function') return (outcome as () => unknown)();
          return outcome;
        }, UseFilters(Filter)),
        Audit,
      ],
    });
    const thrown = (what: unknown) => () => {
      throw what;
    };
    for (const discard of [Discard.because('x'), thrown(Discard.because('x'))]) {
      outcome = discard;
      await expect(app.run('work', 1)).resolves.toMatchObject({ why: 'discarded' });
    }
    for (const retry of [Retry.after(0, new Error('busy')), thrown(Retry.after(0, new Error('busy')))]) {
      outcome = retry;
      await expect(app.failure('work', 1)).resolves.toMatchObject({ message: 'busy' });
    }
    for (const again of [() => Again.after(0), thrown(Again.after(0))]) {
      times = 0;
      outcome = () => (times === 1 ? again() : undefined);
      await expect(app.run('work', 1)).resolves.toBeUndefined();
      expect(times).toBe(2);
    }
    expect(seen).toEqual([]);
  });
});
