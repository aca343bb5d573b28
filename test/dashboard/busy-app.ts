// An application with something to show on each page of the dashboard.
import { GIVES_UP, ORDERS, type DashboardApp, type DashboardAppOptions } from './dashboard-app.js';

/** Each page, and something that it shows when all of it is there: in English, and in Chinese. */
export const PAGES = [
  { hash: 'timeline', en: 'Overdue', zh: '已逾期' },
  { hash: 'tubes', en: 'Consumers', zh: '消费者' },
  { hash: `tubes/${ORDERS}`, en: 'How runs ended', zh: '执行结果' },
  { hash: `waiting?tube=${ORDERS}`, en: 'waiting', zh: '立即执行' },
  { hash: `dead?tube=${GIVES_UP}`, en: 'no such mailbox', zh: 'no such mailbox' },
  { hash: `job?tube=${ORDERS}&key=order-42`, en: 'It is not due yet', zh: '尚未到期' },
  { hash: 'search?q=order-42', en: 'State', zh: '状态' },
  { hash: 'history', en: 'Jobs added', zh: '新增任务' },
  { hash: 'cluster', en: 'Connections', zh: '连接数' },
  { hash: 'acts', en: 'Pause', zh: '暂停' },
] as const;

export async function startBusyApp(
  start: (options?: DashboardAppOptions) => Promise<DashboardApp>,
): Promise<DashboardApp> {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  await app.addDead('no such mailbox');
  await app.control.pause(GIVES_UP);
  await app.producer.now(GIVES_UP, { because: 'late' });
  return app;
}
