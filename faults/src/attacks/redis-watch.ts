import { Redis } from 'ioredis';

/** Looks at each command that a Redis gets, and so at all that it may store. */
export class RedisWatch {
  commands = 0;
  /** How many of them had the secret in an argument. */
  readable = 0;

  private constructor(
    private readonly monitor: Redis,
    secret: string,
  ) {
    monitor.on('monitor', (_time: string, args: readonly string[]) => {
      this.commands++;
      if (args.some((arg) => arg.includes(secret))) this.readable++;
    });
  }

  static async on(url: string, secret: string): Promise<RedisWatch> {
    const redis = new Redis(url);
    try {
      return new RedisWatch(await redis.monitor(), secret);
    } finally {
      redis.disconnect();
    }
  }

  stop(): void {
    this.monitor.disconnect();
  }
}
