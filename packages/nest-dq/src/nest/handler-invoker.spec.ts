import { describe, expect, it } from '@jest/globals';
import { Injectable, UseGuards, type CanActivate } from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import type { DelayedJob, HandlerMethod } from '../api/job.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { enhancersOf } from './enhancers.js';
import { HandlerInvoker } from './handler-invoker.js';
import { DelayedPayload } from './parameters.js';

class Allow implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

@Injectable()
class Work {
  bare(payload: unknown, job: DelayedJob): unknown[] {
    return [payload, job, this];
  }
  @UseGuards(Allow)
  guarded(payload: unknown): unknown {
    return payload;
  }
  decorated(@DelayedPayload() payload: unknown): unknown {
    return payload;
  }
}

const job = { id: '42' } as DelayedJob<any>;

async function bind(
  method: keyof Work,
  config?: (config: ApplicationConfig) => void,
): Promise<HandlerMethod> {
  const module = await Test.createTestingModule({ imports: [DiscoveryModule], providers: [Work] }).compile();
  const settings = module.get(ApplicationConfig);
  config?.(settings);
  const invoker = new HandlerInvoker(settings, new CollectingLogger());
  const providers = module.get(DiscoveryService).getProviders();
  const wrapper = providers.find(({ token }) => token === Work)!;
  const instance = module.get(Work);
  return invoker.bind({ wrapper, instance, key: method, method: instance[method], name: `Work.${method}` });
}

describe('a handler that nothing stands around', () => {
  it('is called as it is: what it returns comes back at once', async () => {
    const handler = await bind('bare');
    expect(handler('payload', job)).toEqual(['payload', job, expect.any(Work)]);
  });
});

describe('a handler goes through Nest', () => {
  it.each<[string, keyof Work, ((config: ApplicationConfig) => void) | undefined]>([
    ['with a guard', 'guarded', undefined],
    ['with a decorated parameter', 'decorated', undefined],
    ['with something global', 'guarded', (config) => config.useGlobalGuards(new Allow())],
  ])('%s', async (_why, method, config) => {
    const handler = await bind(method, config);
    const result = handler('payload', job);
    expect(result).toBeInstanceOf(Promise);
    await expect(result).resolves.toBe('payload');
  });
});

describe('enhancersOf', () => {
  it('names all that apply, the global ones first', () => {
    class OnClass extends Allow {}
    const config = new ApplicationConfig();
    config.useGlobalGuards(new Allow());
    config.useGlobalPipes({ transform: (value: unknown) => value });
    class Both {}
    const run = () => undefined;
    UseGuards(OnClass)(Both);
    UseGuards(Allow)(run);
    expect(enhancersOf(Both, run, config)).toEqual({
      guards: ['Allow', 'OnClass', 'Allow'],
      interceptors: [],
      pipes: ['Object'],
      filters: [],
    });
  });
});
