import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Injectable,
  ValidationPipe,
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import { DelayedHandler, DelayedJob, isDqContext } from 'nest-dq';
import { enhancedApps } from '../support/enhanced.js';
import { forget, seen } from '../support/noting-enhancers.js';
import { Orders } from '../support/validated-orders.js';

const start = enhancedApps();
afterEach(forget);

describe('parameters', () => {
  const order = { id: '42', lines: [{ sku: 'a', count: 1 }] };

  it('are payload and job without decorators, validated by class-validator', async () => {
    const app = await start({ providers: [Orders] });
    await app.run('plain', { ...order, more: true });
    expect(seen).toEqual([true, true, order, { ...order, more: true }]);
    forget();
    const letter = await app.run('plain', { id: 42, lines: [{ sku: 'a', count: 'x' }] });
    const message = 'Bad Request Exception: id must be a string, lines.0.count must be an integer number';
    expect(letter).toMatchObject({ why: 'attempts', error: { name: 'BadRequestException', message } });
    expect(app.about(`is now a dead letter: ${message}`)).toHaveLength(1);
    expect(seen).toEqual([]);
  });

  it('are the job as it is, which no pipe sees', async () => {
    class Copy implements PipeTransform {
      transform(value: object): object {
        return { ...value };
      }
    }
    const app = await start({ providers: [Orders] }, (web) =>
      web.useGlobalPipes(new ValidationPipe({ validateCustomDecorators: true, transform: true }), new Copy()),
    );
    await expect(app.run('decorated', order)).resolves.toBeUndefined();
    expect(seen).toEqual([true, true]);
  });

  it('are validated by a global pipe, too', async () => {
    const app = await start({ providers: [Orders] }, (web) =>
      web.useGlobalPipes(new ValidationPipe({ forbidNonWhitelisted: true, whitelist: true })),
    );
    await expect(app.run('plain', order)).resolves.toBeUndefined();
    const letter = await app.run('decorated', { ...order, more: true });
    expect(letter?.error?.name).toBe('BadRequestException');
  });

  it('may have pipes of their own, and be in another order', async () => {
    const app = await start({ providers: [Orders] });
    await app.run('decorated', order);
    await app.run('moved', '17');
    expect(seen).toEqual([true, true, 'moved', 17]);
    await expect(app.failure('decorated', {})).resolves.toMatchObject({ name: 'BadRequestException' });
    await expect(app.failure('moved', 'many')).resolves.toMatchObject({ name: 'BadRequestException' });
  });

  it('may be made with createParamDecorator, next to payload and job', async () => {
    const Tenant = createParamDecorator((name: string, context: ExecutionContext) => {
      const [, job] = context.getArgs<[unknown, DelayedJob]>();
      return `${job.headers[name]} ${isDqContext(context)}`;
    });
    @Injectable()
    class Work {
      @DelayedHandler('work')
      run(payload: string, job: DelayedJob, @Tenant('x-tenant') tenant: string): void {
        seen.push(payload, job.tube, tenant);
      }
    }
    const app = await start({ providers: [Work] });
    await app.run('work', 'payload', { 'x-tenant': 'acme' });
    expect(seen).toEqual(['payload', 'work', 'acme true']);
  });

  it('cannot be read from a request', async () => {
    const { Headers } = await import('@nestjs/common');
    @Injectable()
    class Work {
      @DelayedHandler('work')
      run(_payload: string, @Headers() _headers: object): void {}
    }
    await expect(start({ providers: [Work] })).rejects.toThrow(
      /DQ_CONFIG: Work\.run .*: parameter 2 has a decorator that reads a request, and a job has none/,
    );
  });

  it('of a method that is a route, too, stay what they are for requests', async () => {
    const { Get } = await import('@nestjs/common');
    @Controller()
    class Web {
      @Get('poll')
      @DelayedHandler('poll')
      poll(first: unknown, second: unknown): string {
        seen.push(first, second instanceof DelayedJob);
        return 'ok';
      }
    }
    const app = await start({ controllers: [Web] }, (web) => web.useGlobalPipes(new ValidationPipe()));
    await app.run('poll', 'payload');
    expect(seen).toEqual(['payload', true]);
    expect(Reflect.getMetadata('__routeArguments__', Web, 'poll')).toBeUndefined();
  });
});
