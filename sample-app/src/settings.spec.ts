import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readSettings } from './settings.js';

describe('the settings', () => {
  it('keep jobs in a folder and listen on 3000 when nothing is set', () => {
    expect(readSettings({ PAY_SECONDS: '' })).toEqual({
      port: 3_000,
      folder: join(process.cwd(), 'data'),
      jobs: { embedded: { dir: join(process.cwd(), 'data', 'jobs') } },
      messages: { group: 'sample-app', brokers: 'memory' },
      payWithin: 15_000,
      welcomeAfter: 3_000,
      day: 1_000,
    });
  });

  it('take another folder from a variable', () => {
    expect(readSettings({ DATA_DIR: '/var/lib/tea' })).toMatchObject({
      folder: '/var/lib/tea',
      jobs: { embedded: { dir: '/var/lib/tea/jobs' } },
    });
  });

  it('take a cluster from two variables', () => {
    const { jobs } = readSettings({ DQ_BEANSTALKS: 'a:11300, b:11300', DQ_REDIS: 'redis://c' });
    expect(jobs).toEqual({ beanstalks: ['a:11300', 'b:11300'], redis: 'redis://c' });
  });

  it('take brokers from a variable', () => {
    const { messages } = readSettings({ KQ_BROKERS: 'a:9092, b:9092' });
    expect(messages).toEqual({ group: 'sample-app', brokers: ['a:9092', 'b:9092'] });
  });

  it.each([
    [{ DQ_BEANSTALKS: 'a:11300' }, 'DQ_BEANSTALKS is set without DQ_REDIS'],
    [{ DQ_REDIS: 'redis://c' }, 'DQ_REDIS is set without DQ_BEANSTALKS'],
    [{ PORT: '65536' }, 'PORT is "65536"'],
    [{ PORT: 'http' }, 'PORT is "http"'],
    [{ PAY_SECONDS: '0' }, 'PAY_SECONDS is "0"'],
    [{ DAY_SECONDS: '1s' }, 'DAY_SECONDS is "1s"'],
    [{ WELCOME_SECONDS: '-3' }, 'WELCOME_SECONDS is "-3"'],
  ])('refuse %j', (env, message) => {
    expect(() => readSettings(env)).toThrow(message);
  });
});
