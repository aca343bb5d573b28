import { expect, it } from '@jest/globals';
import { cronInWords } from './cron-words.js';

it.each([
  ['0 3 * * * Europe/Berlin', 'At 03:00, every day (Europe/Berlin)', '在03:00，每天（Europe/Berlin）'],
  ['30 2,14 * * * UTC', 'At 02:30 and 14:30, every day (UTC)', '在 02:30 和 14:30，每天（UTC）'],
  ['*/15 * * * * UTC', 'Every 15 minutes (UTC)', '每隔 15 分钟（UTC）'],
  ['*/5 * * * * * UTC', 'Every 5 seconds (UTC)', '每隔 5 秒（UTC）'],
  ['0 * * * * UTC', 'Every hour (UTC)', '每小时（UTC）'],
  ['0 9 * * 1-5 UTC', 'At 09:00, Monday through Friday (UTC)', '在09:00，星期一至星期五（UTC）'],
  [
    '0 0 * * 5#2 UTC',
    'At 00:00, on the second Friday of the month (UTC)',
    '在00:00，限每月的第二个星期五（UTC）',
  ],
  ['0 0 L * * UTC', 'At 00:00, on the last day of the month (UTC)', '在00:00，限每月的最后一天（UTC）'],
])('says %s in words', (plan, english, chinese) => {
  expect(cronInWords(plan, 'en')).toBe(english);
  expect(cronInWords(plan, 'zh')).toBe(chinese);
});

it.each(['calendar first workday', 'calendar 0 3 * * * UTC', '0 3 * * X UTC', '0 25 * * * UTC', '3 UTC', ''])(
  'leaves %s as it is',
  (plan) => {
    expect(cronInWords(plan, 'en')).toBeUndefined();
    expect(cronInWords(plan, 'zh')).toBeUndefined();
  },
);
