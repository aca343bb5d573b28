import type { DqInspector } from 'nest-dq/operate';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';

const HOURS = 48;
const MINUTES = 60;
const HOUR = 3_600_000;
/** Milliseconds: processes write what they counted every ten seconds. */
const UNTIL_WRITTEN = 30_000;

/**
 * Gives a tube, and others of this hour, a history of two days: in each minute happens what happened in one. The library has no
 * call for it, so this knows how Redis has it, and rejects if the inspector does not tell it then.
 */
export async function repeatHistory(url: string, inspector: DqInspector, tube: string): Promise<void> {
  const read = () => inspector.history({ tube, from: new Date(Date.now() - HOURS * HOUR), to: new Date() });
  await eventually('the history has something', async () => (await read()).length > 0, UNTIL_WRITTEN);
  const hour = Math.floor((await read()).at(-1)!.at.getTime() / HOUR);
  await repeat(url, hour);
  const minutes = (await read()).length;
  if (minutes < (HOURS - 1) * MINUTES) throw new Error(`the history has ${minutes} minutes`);
}

async function repeat(url: string, hour: number): Promise<void> {
  const redis = new Redis(url);
  try {
    const [key = ''] = await redis.keys(`*:history:${hour}`);
    const base = key.slice(0, -String(hour).length);
    const { tubes = '[]', ...minutes } = await redis.hgetall(key);
    // Under <minute>:<place of the tube>.
    const byPlace = new Map(Object.entries(minutes).map(([field, counts]) => [field.split(':')[1]!, counts]));
    const fields: Record<string, string> = { tubes };
    for (let minute = 0; minute < MINUTES; minute++)
      for (const [place, counts] of byPlace) fields[`${minute}:${place}`] = counts;
    const hours = Array.from({ length: HOURS }, (_, back) => `${base}${hour - 1 - back}`);
    await Promise.all(hours.map((each) => redis.hset(each, fields)));
  } finally {
    redis.disconnect();
  }
}
