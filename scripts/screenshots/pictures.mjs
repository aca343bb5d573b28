// The pictures: the part of a page's address behind the #, a string that the page shows once it is fully loaded, and for a dialog or
// an outage how to get there.
import { DEAD_TOPIC } from './shop.mjs';

export function pagesOf(order) {
  return {
    timeline: { hash: 'timeline?span=hour', shows: 'Problems' },
    month: { hash: 'timeline?span=month', shows: 'Problems' },
    tubes: { hash: 'tubes', shows: 'resource.delete' },
    tube: { hash: 'tubes/mail.welcome', shows: 'Paused since' },
    waiting: { hash: 'waiting?tube=order.unpaid', shows: 'order-1' },
    running: { hash: 'running', shows: 'report.monthly' },
    finished: { hash: 'finished?tube=invoice.send', shows: 'invoice-12' },
    done: { hash: 'job?tube=invoice.send&key=invoice-12', shows: 'mailed' },
    late: { hash: 'timeline?span=day&tube=newsletter.send', shows: 'up to' },
    groups: { hash: 'dead', shows: 'there is no mailbox' },
    dead: { hash: 'dead?tube=mail.welcome', shows: 'ann@gone.example' },
    topics: { hash: 'kafka', shows: '7' },
    kafka: { hash: `kafka?topic=${DEAD_TOPIC}`, shows: 'ann@gone.example' },
    job: { hash: `job?tube=order.unpaid&key=${order}`, shows: 'Not due yet' },
    retrying: { hash: 'job?tube=stock.sync&key=tea', shows: 'the warehouse answered 503' },
    history: { hash: 'history', shows: 'Run lateness' },
    series: { hash: 'series', shows: 'backup.nightly' },
    cluster: { hash: 'cluster', shows: 'Connections' },
    acts: { hash: 'acts', shows: 'mail.welcome' },
  };
}

const button = (page, name) => page.getByRole('main').getByRole('button', { name }).first();

export const DIALOGS = {
  palette: {
    hash: 'tubes',
    shows: 'resource.delete',
    act: async (page) => {
      await page.keyboard.press('/');
      await page.getByRole('dialog').getByRole('combobox').fill('order-4');
      await page.getByRole('group', { name: 'Jobs' }).getByRole('option').first().waitFor();
    },
  },
  shortcuts: {
    hash: 'tubes',
    shows: 'resource.delete',
    act: async (page) => {
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  },
  spread: {
    hash: 'timeline?span=day&tube=newsletter.send',
    shows: 'up to',
    act: async (page) => {
      await page.locator('rect.tube').first().click();
      await page.getByRole('button', { name: 'Spread… newsletter.send' }).click();
      await page.getByRole('dialog').getByText('up to').first().waitFor();
    },
  },
  abort: {
    hash: 'running',
    shows: 'report.monthly',
    act: async (page) => {
      await button(page, /^Abort run/).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  'revoke-many': {
    hash: 'waiting?tube=order.unpaid',
    shows: 'order-1',
    act: async (page) => {
      await button(page, 'Revoke all matching').click();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Revoke [\d,]+ jobs$/ })
        .waitFor();
    },
  },
  'reschedule-many': {
    hash: 'waiting?tube=order.unpaid',
    shows: 'order-1',
    act: async (page) => {
      await button(page, 'Reschedule all matching').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Reschedule' }).waitFor();
    },
  },
  pause: {
    hash: 'tubes/order.unpaid',
    shows: 'Run outcomes',
    act: async (page) => {
      await button(page, 'Pause').click();
      await page.getByRole('dialog').waitFor();
    },
  },
  discard: {
    hash: 'dead?tube=mail.welcome',
    shows: 'ann@gone.example',
    act: async (page) => {
      await button(page, /^Discard /).click();
      await page.getByRole('dialog').waitFor();
    },
  },
};

/** Each begins with a page that shows what it knows, and ends before the next one. */
export const OUTAGES = {
  node: {
    hash: 'timeline?span=hour',
    shows: 'Problems',
    begin: ({ beanstalkds: [first] }) => first.kill('SIGKILL'),
    says: /^Node .* is down$/,
    end: ({ beanstalkds: [first] }) => first.restart(),
  },
  redis: {
    hash: 'timeline?span=hour',
    shows: 'Problems',
    begin: ({ redis }) => redis.kill('SIGKILL'),
    says: 'Redis is down',
    end: ({ redis }) => redis.restart(),
  },
  'redis-waiting': {
    hash: 'waiting?tube=order.unpaid',
    shows: 'order-1',
    begin: ({ redis }) => redis.kill('SIGKILL'),
    says: 'Redis is down',
    end: ({ redis }) => redis.restart(),
  },
};
