import type { WordKey } from './words.js';

/** The same in Chinese. */
export const zh: Readonly<Record<WordKey, string>> = {
  'app.name': 'nest-dq',
  'app.skip': '跳到页面内容',
  'app.nav': '页面',
  'app.language': '语言',
  'app.version': '版本 {version}',
  'app.readOnly': '只读',
  'app.search': '按回执、id 或 key 查找任务',
  'app.searchGo': '查找',
  'app.live.open': '实时',
  'app.live.connecting': '正在连接',
  'app.live.lost': '连接已断开',
  'app.live.hidden': '已暂停',
  'app.noPage': '没有这个页面。',
  'nav.timeline': '时间线',
  'nav.tubes': '队列',
  'nav.waiting': '等待中的任务',
  'nav.dead': '死信',
  'nav.history': '历史',
  'nav.cluster': '集群',
  'nav.operated': '操作记录',
};
