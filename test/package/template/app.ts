// An application as a user would write it, against the packed library: it reports what happens as lines of JSON.
import 'reflect-metadata';
import {
  Controller,
  Injectable,
  Module,
  Param,
  Post,
  type DynamicModule,
  type INestApplicationContext,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DelayedHandler, DelayedJob, DqModule, DqProducer, Retry, defineTube } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { EmbeddedNode } from 'nest-dq/embedded';
import type { GoQueueOptions } from 'nest-dq/go-queue';
import { DqInspector, type TubeList } from 'nest-dq/operate';
import { openTelemetry } from 'nest-dq/opentelemetry';
import { DqTestKit } from 'nest-dq/testing';

const OrderCancel = defineTube<{ id: string; at: Date }>('order.cancel');
const Slow = defineTube<{ ms: number }>('slow');

function say(event: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

/** Closes as the usual recipe for Prisma has it. */
class Database implements OnModuleDestroy {
  isOpen = true;

  onModuleDestroy(): void {
    this.isOpen = false;
  }
}

const databases = new Map<string, Database>();
const closedDatabases = (): string =>
  [...databases].flatMap(([name, { isOpen }]) => (isOpen ? [] : name)).join(', ');

function databaseModule(name: string, global: boolean): DynamicModule {
  const database = new Database();
  databases.set(name, database);
  return { module: class DatabaseModule {}, global, providers: [{ provide: name, useValue: database }] };
}

@Injectable()
class Orders {
  constructor(private readonly dq: DqProducer) {}

  async place(id: string): Promise<void> {
    await this.dq.now(OrderCancel, { id, at: new Date() });
  }

  async placeAll(): Promise<void> {
    const at = new Date();
    await this.place('now');
    await this.dq.delay(OrderCancel, { id: 'delay', at }, '1s');
    await this.dq.at(OrderCancel, { id: 'at', at }, new Date(Date.now() + 1_200));
    await this.place('retried');
    const receipt = await this.dq.delay(OrderCancel, { id: 'revoked', at }, '1500ms');
    say({ event: 'revoke', result: await this.dq.revoke(receipt.ref) });
  }

  async placeSlow(): Promise<void> {
    await this.dq.now(Slow, { ms: 700 });
    await this.dq.now(Slow, { ms: 600_000 });
  }

  @DelayedHandler(OrderCancel, { concurrency: 5 })
  cancel({ id, at }: { id: string; at: string }, job: DelayedJob): Retry | undefined {
    say({ event: 'ran', id, at: typeof at, lateness: job.lateness, attempt: job.attempt });
    return id === 'retried' && job.attempt === 1 ? Retry.after('100ms') : undefined;
  }

  @DelayedHandler(Slow)
  async slow({ ms }: { ms: number }, job: DelayedJob): Promise<void> {
    say({ event: 'slow began', ms, attempt: job.attempt });
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      job.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        say({ event: 'slow cut', ms, closed: closedDatabases() });
        reject(job.signal.reason as Error);
      });
    });
    say({ event: 'slow ended', ms });
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post(':id')
  async place(@Param('id') id: string): Promise<void> {
    await this.orders.place(id);
  }
}

const { DQ_BEANSTALKS: beanstalks, DQ_REDIS: redis, PLAY: play = '' } = process.env;

@Module({
  imports: [
    databaseModule('before', false),
    databaseModule('global before', true),
    DqModule.forRoot({
      ...(beanstalks && redis ? { beanstalks: beanstalks.split(','), redis } : {}),
      shutdownTimeout: '2s',
      hooks: [openTelemetry()],
    }),
    DqDashboardModule.forRoot({ access: () => ({ acts: 'all' }) }),
    databaseModule('after', false),
    databaseModule('global after', true),
  ],
  providers: [Orders],
  controllers: [OrdersController],
})
export class AppModule {}

/** Runs the play of the environment. `url` is the address of an HTTP application. */
export async function run(app: INestApplicationContext, url?: string): Promise<void> {
  app.enableShutdownHooks();
  const orders = app.get(Orders);
  if (play.includes('orders')) await orders.placeAll();
  if (play.includes('slow')) await orders.placeSlow();
  if (play.includes('http')) await useHttp(url!);
  if (play.includes('entries')) await useEntries();
}

/** Adds a job by a route of ours, and says where the dashboard is, as a person types it. */
async function useHttp(url: string): Promise<void> {
  await fetch(`${url}/orders/http`, { method: 'POST' });
  say({ event: 'listens', dashboard: `${url}/dq` });
}

/** Types of other entries compile, and their classes are the same as the module's. */
export const goQueue: GoQueueOptions = { redis: 'redis://go-queue' };
export const tubesOf = (app: INestApplicationContext): Promise<TubeList> => app.get(DqInspector).tubes();

/** Uses the entry points other than the module. */
async function useEntries(): Promise<void> {
  const kit = new DqTestKit();
  await kit.producer.delay(OrderCancel, { id: 'kit', at: new Date() }, '15m');
  const node = await EmbeddedNode.open();
  const { host } = await node.listen({ port: 0 });
  say({ event: 'entries', scheduled: kit.scheduled(OrderCancel).length, host });
  await Promise.all([kit.close(), node.close()]);
}
