import type { AbstractHttpAdapter } from '@nestjs/core';
import { DqError, toError } from '../../errors.js';

/** Parameters of a path are names of tubes. */
const LONGEST_PARAMETER = 600;

/** Optional peers: an application has one of them, and a folder without an application has none. */
const PLATFORMS: readonly (() => Promise<AbstractHttpAdapter>)[] = [
  async () => {
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return new ExpressAdapter();
  },
  async () => {
    const { FastifyAdapter } = await import('@nestjs/platform-fastify');
    return new FastifyAdapter({
      forceCloseConnections: true,
      routerOptions: { maxParamLength: LONGEST_PARAMETER },
    });
  },
];

/** `DQ_CONFIG`: neither can be loaded. */
export async function loadHttpAdapter(): Promise<AbstractHttpAdapter> {
  const failures: string[] = [];
  for (const load of PLATFORMS) {
    try {
      return await load();
    } catch (thrown) {
      failures.push(toError(thrown).message);
    }
  }
  const needs =
    'the dashboard needs @nestjs/platform-express or @nestjs/platform-fastify, and neither can be loaded';
  const way = 'npx -p nest-dq -p @nestjs/platform-express nest-dq dashboard …';
  throw new DqError('DQ_CONFIG', `${needs} (${failures.join('; ')}): ${way}`);
}
