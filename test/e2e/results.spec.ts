import { afterEach, describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  Catch,
  ClassSerializerInterceptor,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type PipeTransform,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { Again, DelayedHandler, DelayedJob, Discard, Retry, type DqError } from 'nest-dq';
import { EMPTY, Observable, Subject, catchError, map, merge, mergeMap, of, take, tap, timeout } from 'rxjs';
import { eventually } from 'test-servers';
import { enhancedApps } from '../support/enhanced.js';
import { CustomerGone, fail, failing } from '../support/failing-work.js';
import { Audit, Filter, Interceptor, forget, seen } from '../support/noting-enhancers.js';
import { Orders } from '../support/validated-orders.js';

const start = enhancedApps();
afterEach(forget);

describe('an outcome', () => {
  it('may come from a guard, and from a pipe', async () => {
    class Decide implements CanActivate, PipeTransform {
      canActivate(context: ExecutionContext): boolean {
        if (context.getArgByIndex(0) === 'guard') throw Discard.because('said the guard');
        return true;
      }
      transform(value: unknown): unknown {
        if (value === 'pipe') throw Discard.because('said the pipe');
        return value;
      }
    }
    const around = [UseGuards(Decide), UsePipes(Decide), UseFilters(Filter)];
    const app = await start({ providers: [Audit, failing(() => 'done', ...around)] });
    await expect(app.run('work', 'guard')).resolves.toMatchObject({ error: { message: 'said the guard' } });
    await expect(app.run('work', 'pipe')).resolves.toMatchObject({ why: 'discarded' });
    await expect(app.run('work', 'none')).resolves.toBeUndefined();
    expect(seen).toEqual([]);
  });

  it('may be what an interceptor makes of a result, and a failure may pass as success', async () => {
    const Interceptors = [
      UseInterceptors({
        intercept: (_: unknown, next: CallHandler) =>
          next.handle().pipe(map((text) => Discard.because(String(text)))),
      }),
      UseInterceptors({
        intercept: (_: unknown, next: CallHandler) => next.handle().pipe(catchError(() => of('fine'))),
      }),
    ];
    const made = await start({ providers: [failing(() => 'the result', Interceptors[0]!)] });
    await expect(made.run('work', 1)).resolves.toMatchObject({ error: { message: 'the result' } });
    const passed = await start({ providers: [failing(fail, Interceptors[1]!)] });
    await expect(passed.run('work', 1)).resolves.toBeUndefined();
  });

  it('of a filter ends what a ValidationPipe refused', async () => {
    @Catch(BadRequestException)
    class InvalidIsOver implements ExceptionFilter {
      catch(error: BadRequestException): Discard {
        const { message } = error.getResponse() as { message: string | string[] };
        return Discard.because([message].flat().join(', '));
      }
    }
    const app = await start({ providers: [Orders, { provide: APP_FILTER, useClass: InvalidIsOver }] });
    await expect(app.run('plain', { lines: [] })).resolves.toMatchObject({
      why: 'discarded',
      error: { message: 'id must be a string' },
    });
  });

  describe('that the handler returns stands', () => {
    const wrapper = {
      intercept: (_: unknown, next: CallHandler) => next.handle().pipe(map((data) => ({ data }))),
    };
    it.each<[string, Provider]>([
      ['wraps', { provide: APP_INTERCEPTOR, useValue: wrapper }],
      ['serializes', { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor }],
    ])('where an interceptor %s all that it gets', async (_how, interceptor) => {
      const outcomes = [
        Retry.after('1ms', new Error('busy')),
        Discard.because('never'),
        of('first', Discard.because('of an Observable')),
        Again.after('1ms'),
        Promise.resolve('done'),
      ];
      const app = await start({
        providers: [failing(() => seen.push('ran') && outcomes.shift()), interceptor],
      });
      await expect(app.run('work', 1)).resolves.toMatchObject({
        why: 'attempts',
        error: { message: 'busy' },
      });
      await expect(app.run('work', 1)).resolves.toMatchObject({
        why: 'discarded',
        error: { message: 'never' },
      });
      await expect(app.run('work', 1)).resolves.toMatchObject({ error: { message: 'of an Observable' } });
      expect(seen).toHaveLength(3);
      await expect(app.run('work', 1)).resolves.toBeUndefined();
      expect(seen).toHaveLength(5);
    });

    it('unless the interceptor throws, has an outcome of its own, or calls the handler again', async () => {
      const results = ['throw', 'own', 'again'].map((each) => Discard.because(each));
      const decide = (discard: Discard): unknown => {
        if (discard.reason === 'throw') throw new CustomerGone('said the interceptor');
        return discard.reason === 'own' ? Retry.after('1ms', new Error('its own')) : discard;
      };
      const app = await start({
        providers: [
          failing(
            () => results.shift() ?? 'fine',
            UseInterceptors({
              intercept: (_: unknown, next: CallHandler<Discard>) =>
                next
                  .handle()
                  .pipe(mergeMap((each) => (each.reason === 'again' ? next.handle() : of(decide(each))))),
            }),
          ),
        ],
      });
      await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'CustomerGone' });
      await expect(app.failure('work', 1)).resolves.toMatchObject({ message: 'its own' });
      await expect(app.run('work', 1)).resolves.toBeUndefined();
    });
  });
});

describe('an interceptor that gives up waiting', () => {
  it('ends the run, and asks the handler to stop; the next one waits until it has', async () => {
    let givenUp = new Subject<never>();
    let release = () => {};
    @Injectable()
    class Work {
      @UseInterceptors({
        intercept: (_: unknown, next: CallHandler) => merge(next.handle(), givenUp).pipe(take(1)),
      })
      @DelayedHandler('slow', { concurrency: 1 })
      async slow(name: string, { signal }: DelayedJob): Promise<void> {
        seen.push(`${name} begins`);
        signal.addEventListener('abort', () => seen.push((signal.reason as DqError).code));
        if (name === 'first') await new Promise<void>((resolve) => (release = resolve));
        seen.push(`${name} ends`);
      }
      @DelayedHandler('other')
      other(): void {}
    }
    const app = await start({ providers: [Work] });
    const letter = app.failure('slow', 'first');
    await eventually('the handler began', () => seen.length === 1);
    const first = givenUp;
    givenUp = new Subject();
    first.error(new CustomerGone('it takes too long'));
    await expect(letter).resolves.toMatchObject({ name: 'CustomerGone' });
    const second = app.failure('slow', 'second');
    await app.run('other', 1);
    release();
    await second;
    expect(seen).toEqual(['first begins', 'DQ_TIMEOUT', 'first ends', 'second begins', 'second ends']);
  });

  it('unsubscribes from an Observable, with which the handler has ended', async () => {
    const forever = new Observable(() => () => seen.push('ended'));
    const givesUp = { intercept: (_: unknown, next: CallHandler) => next.handle().pipe(timeout(1)) };
    const work = failing(() => forever, UseInterceptors(givesUp));
    const app = await start({ providers: [work] });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'TimeoutError' });
    expect(seen).toEqual(['ended']);
  });
});

describe('an Observable that a handler returns', () => {
  it.each<[string, (ClassDecorator & MethodDecorator)[]]>([
    ['without enhancers', []],
    ['behind an interceptor', [UseInterceptors(new Interceptor(new Audit()))]],
  ])('runs to its end, and its last value counts, %s', async (_where, decorators) => {
    const result = of(1, 2, Discard.because('of the last value')).pipe(tap(() => seen.push('value')));
    const app = await start({ providers: [failing(() => result, ...decorators)] });
    await expect(app.run('work', 1)).resolves.toMatchObject({ error: { message: 'of the last value' } });
    expect(seen.filter((each) => each === 'value')).toHaveLength(3);
    const later = await start({ providers: [failing(async () => result, ...decorators)] });
    await expect(later.run('work', 1)).resolves.toMatchObject({ error: { message: 'of the last value' } });
    const empty = await start({ providers: [failing(() => EMPTY, ...decorators)] });
    await expect(empty.failure('work', 1)).resolves.toMatchObject({ name: 'EmptyError' });
  });
});
