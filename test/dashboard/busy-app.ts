// An application with something to show on each page of the dashboard.
import { Injectable } from '@nestjs/common';
import { Discard, KqDeadLetters, KqModule, KqPusher, TopicHandler } from 'nest-kq';
import { eventually } from 'test-servers';
import { GIVES_UP, ORDERS, type DashboardApp, type DashboardAppOptions } from './dashboard-app.js';

/** Each page, and something that it shows when all of it is there: in English, and in Chinese. */
export const PAGES = [
  { hash: 'timeline', en: 'Problems', zh: '问题' },
  { hash: 'tubes', en: 'Consumers', zh: '消费者' },
  { hash: `tubes/${ORDERS}`, en: 'Run outcomes', zh: '执行结果' },
  { hash: `waiting?tube=${ORDERS}`, en: 'waiting', zh: '立即执行' },
  { hash: 'running', en: 'No run has taken', zh: '没有执行超过一秒' },
  { hash: `finished?tube=${ORDERS}`, en: 'order-41', zh: 'order-41' },
  { hash: `job?tube=${ORDERS}&key=order-41`, en: 'Completed at', zh: '中完成' },
  { hash: 'dead', en: 'no such mailbox', zh: 'no such mailbox' },
  { hash: `dead?tube=${GIVES_UP}`, en: 'no such mailbox', zh: 'no such mailbox' },
  { hash: 'kafka', en: 'Letters', zh: '死信数' },
  { hash: 'kafka?topic=sales.shop.kq-dead', en: 'no such mailbox', zh: 'no such mailbox' },
  { hash: `job?tube=${ORDERS}&key=order-42`, en: 'Not due yet', zh: '尚未到期' },
  { hash: 'search?q=order-42', en: 'State', zh: '状态' },
  { hash: 'history', en: 'Jobs added', zh: '新增任务' },
  { hash: 'series', en: 'Series', zh: '周期任务' },
  { hash: 'cluster', en: 'Connections', zh: '连接数' },
  { hash: 'acts', en: 'Pause', zh: '暂停' },
] as const;

@Injectable()
class Sales {
  @TopicHandler('sales', { group: 'shop' })
  sell(): Discard {
    return Discard.because('no such mailbox');
  }
}

export async function startBusyApp(
  start: (options?: DashboardAppOptions) => Promise<DashboardApp>,
): Promise<DashboardApp> {
  const app = await start({
    imports: [KqModule.forRoot()],
    providers: [Sales],
    jobs: { embedded: 'memory', keepDone: { for: '1h' } },
  });
  await app.get(KqPusher).push('sales', { sold: 1 }, { key: 'order-42' });
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  await app.producer.now(ORDERS, {}, { key: 'order-41' });
  await app.addDead('no such mailbox');
  await app.control.pause(GIVES_UP);
  await app.producer.now(GIVES_UP, { because: 'late' });
  await app.producer.delay(GIVES_UP, { because: 'late' }, '30m', { key: 'order-42' });
  const dead = app.get(KqDeadLetters);
  await eventually('the message is dead', async () => (await dead.topics()).length === 1);
  return app;
}
