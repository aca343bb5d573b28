import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Catch,
  ClassSerializerInterceptor,
  Injectable,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { isDqContext } from 'nest-dq';
import { tap, type Observable } from 'rxjs';
import { enhancedApps } from '../support/enhanced.js';
import { fail, failing } from '../support/failing-work.js';
import { Audit, Guard, Interceptor, forget, seen } from '../support/noting-enhancers.js';

const start = enhancedApps();
afterEach(forget);

describe('what is made for requests', () => {
  @Injectable()
  class AuthGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
      return request.headers['authorization'] === 'secret';
    }
  }
  @Injectable()
  class ResponseTime implements NestInterceptor {
    async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
      await Promise.resolve();
      context
        .switchToHttp()
        .getResponse<{ setHeader(name: string, value: string): void }>()
        .setHeader('a', 'b');
      return next.handle();
    }
  }
  @Injectable()
  class PublicOnly implements CanActivate {
    canActivate(): boolean {
      return false;
    }
  }

  @Injectable()
  class Took implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const response = context.switchToHttp().getResponse<{ setHeader(name: string, value: string): void }>();
      return next.handle().pipe(tap(() => response.setHeader('x-took', '1')));
    }
  }

  it('is named as one of all, when an interceptor fails in an operator after the handler', async () => {
    const providers = [
      failing(() => seen.push('ran'), UseInterceptors(Took)),
      { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
    ];
    const app = await start({ providers });
    for (let i = 0; i < 2; i++)
      await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'TypeError' });
    expect(app.about('isDqContext')).toEqual([
      expect.stringContaining(
        'the interceptor ClassSerializerInterceptor or Took failed on a job of Work.run: response.setHeader',
      ),
    ]);
    expect(seen).toEqual(['ran', 'ran']);
  });

  it.each<[string, { provide: string; useClass: new () => object }, string, RegExp]>([
    [
      'guard that throws',
      { provide: APP_GUARD, useClass: AuthGuard },
      'TypeError',
      /the guard AuthGuard failed on a job of Work\.run: /,
    ],
    [
      'guard that refuses',
      { provide: APP_GUARD, useClass: PublicOnly },
      'ForbiddenException',
      /the guard PublicOnly refused a job of Work\.run\. /,
    ],
    [
      'interceptor',
      { provide: APP_INTERCEPTOR, useClass: ResponseTime },
      'TypeError',
      /the interceptor ResponseTime failed on a job of Work\.run: /,
    ],
  ])('is named once: a %s', async (_what, enhancer, name, message) => {
    const app = await start({ providers: [failing(() => seen.push('ran')), enhancer] });
    for (let i = 0; i < 2; i++) await expect(app.failure('work', 1)).resolves.toMatchObject({ name });
    const warning = /^the global guard .* also runs before each job of Work\.run, /;
    const atStart = enhancer.provide === APP_GUARD ? [expect.stringMatching(warning)] : [];
    expect(app.about('isDqContext')).toEqual([...atStart, expect.stringMatching(message)]);
    expect(seen).toEqual([]);
  });

  it('is not named for what the handler slipped at', async () => {
    const slip = () => (undefined as unknown as { id: string }).id;
    const app = await start({
      providers: [Audit, failing(slip, UseGuards(Guard), UseInterceptors(Interceptor))],
    });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'TypeError' });
    expect(app.about('isDqContext')).toEqual([]);
  });

  it('may stay, when it asks first', async () => {
    @Catch()
    class Careful implements ExceptionFilter {
      catch(error: unknown, host: ArgumentsHost): void {
        if (isDqContext(host)) throw error;
        host.switchToHttp().getResponse<{ end(): void }>().end();
      }
    }
    const app = await start({ providers: [failing(fail), { provide: APP_FILTER, useClass: Careful }] });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'CustomerGone' });
    expect(app.about('isDqContext')).toEqual([]);
  });
});
