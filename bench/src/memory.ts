// The memory of servers. Linux only: it reads /proc.
import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import type { Servers } from './servers.js';

export interface Memory {
  /** `used_memory` of Redis, in bytes. */
  readonly redis: number;
  /** The number of keys in Redis. */
  readonly keys: number;
  /** The resident memory of all beanstalkds together, in bytes. */
  readonly beanstalkds: number;
}

export async function memoryOf({ nodes, redis }: Servers): Promise<Memory> {
  const resident = await Promise.all(nodes.map(({ pid }) => residentSize(pid)));
  return { ...(await redisMemory(redis)), beanstalkds: resident.reduce((sum, size) => sum + size, 0) };
}

/** The resident memory of a process, in bytes. */
export async function residentSize(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
}

async function redisMemory(url: string): Promise<{ redis: number; keys: number }> {
  const redis = new Redis(url);
  try {
    const used = /^used_memory:(\d+)/m.exec(await redis.info('memory'))!;
    return { redis: Number(used[1]), keys: await redis.dbsize() };
  } finally {
    redis.disconnect();
  }
}
