// Texts that every page may need: the signed-in account, refusals with advice, dates.

import { phrasesOf } from '../phrase.js';

export const phrase = phrasesOf({
  sign_in: ['Sign in', '登录', '登入'],
  simulated: ['Demo: simulated prices, replayed at {0}×', '演示：模拟价格，以 {0} 倍速回放', '演示：模擬價格，以 {0} 倍速重播'],
  account_title: ['Programs and signing out', '程序与退出登录', '程式與登出'],
  import_here: ['Import in the browser', '在浏览器中导入', '在瀏覽器中匯入'],
  try_again: ['Try again', '重试', '重試'],
  waiting: ['Trying again in {0} s', '{0} 秒后重试', '{0} 秒後重試'],

  gone: ['The server does not answer', '服务器没有回应', '伺服器沒有回應'],
  gone_text: ['It may be restarting, or the network is down.', '服务器可能正在重启，或网络不通。', '伺服器可能正在重啟，或網絡不通。'],
  visitor: ['You are not signed in', '尚未登录', '尚未登入'],
  visitor_text: ['Candles are shown to accounts of this server.', '登录本服务器的账户后即可查看K线。', '登入本伺服器的帳戶後即可查看K線。'],
  spent: ['This month’s quota is used up', '本月额度已用完', '本月額度已用完'],
  spent_text: [
    '{0} of {1} securities are used. Those stay open; new ones are available from {2} on.',
    '已用 {0}/{1} 只证券。这些证券仍可查看；{2} 起可查看新的证券。',
    '已用 {0}/{1} 隻證券。這些證券仍可查看；{2} 起可查看新的證券。',
  ],
  spent_link: ['See the quota', '查看额度', '查看額度'],
  costs: ['{0} is not open yet this month', '本月尚未查看 {0}', '本月尚未查看 {0}'],
  costs_text: [
    'Showing it takes one of the month’s securities: {0} of {1} are used.',
    '显示它会占用本月的一只证券额度：已用 {0}/{1}。',
    '顯示它會佔用本月的一隻證券額度：已用 {0}/{1}。',
  ],
  show: ['Show {0}', '显示 {0}', '顯示 {0}'],
  floor: ['Before the history of this account', '早于此账户可查看的历史', '早於此帳戶可查看的歷史'],
  floor_text: [
    'Minutes of that time are not served to this account.',
    '该时段的分钟K线不向此账户提供。',
    '該時段的分鐘K線不向此帳戶提供。',
  ],
  lift: [
    'You are an operator. On the server, this lifts the limits of the account:',
    '您是管理员。在服务器上运行以下命令可解除此账户的限制：',
    '您是管理員。在伺服器上執行以下命令可解除此帳戶的限制：',
  ],
  lift_here: ['Or change them here', '或在此处更改', '或在此處更改'],
  fast: ['Too many requests', '请求过于频繁', '請求過於頻繁'],
  fast_text: ['The server limits the rate of requests.', '服务器限制了一段时间内的请求数。', '伺服器限制了一段時間內的請求數。'],
  no_right: ['Not open to this account', '此账户没有权限', '此帳戶沒有權限'],
  no_right_text: ['{0} An operator can grant it.', '{0} 可请管理员授权。', '{0} 可請管理員授權。'],
  no_right_link: ['See your rights', '查看权限', '查看權限'],
  none: ['No candles of {0}', '没有 {0} 的K线', '沒有 {0} 的K線'],
  none_text: [
    'The security is known, but nothing has been imported for it yet. On the server:',
    '已知此证券，但尚未导入其数据。请在服务器上运行：',
    '已知此證券，但尚未匯入其數據。請在伺服器上執行：',
  ],
  unknown: ['{0} is not known here', '这里没有 {0}', '這裡沒有 {0}'],
  unknown_text: [
    'Search for another one, or import its candles on the server:',
    '请搜索其他证券，或在服务器上导入其K线：',
    '請搜尋其他證券，或在伺服器上匯入其K線：',
  ],
  operators: ['For operators', '仅限管理员', '僅限管理員'],
  operators_text: [
    'This page is for operators of the server. An operator can give your account that role.',
    '此页面仅供服务器管理员使用。管理员可授予您的账户此角色。',
    '此頁面僅供伺服器管理員使用。管理員可授予您的帳戶此角色。',
  ],
  world_gone: ['This replay no longer exists', '此回放已不存在', '此重播已不存在'],
  world_gone_text: [
    'It was deleted, or it belongs to another account.',
    '它已被删除，或属于其他账户。',
    '它已被刪除，或屬於其他帳戶。',
  ],
  world_leave: ['Leave the replay', '退出回放', '退出重播'],
  not_found: ['Not found', '未找到', '未找到'],
  not_found_text: ['This server does not offer that.', '此服务器不提供该内容。', '此伺服器不提供該內容。'],
  broken: ['Something went wrong on the server', '服务器出错', '伺服器出錯'],
  no_answer: ['The server cannot answer this', '服务器无法回答', '伺服器無法回答'],

  weekdays: ['Sun Mon Tue Wed Thu Fri Sat', '周日 周一 周二 周三 周四 周五 周六', '週日 週一 週二 週三 週四 週五 週六'],
  months: [
    'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec',
    '1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月',
    '1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月',
  ],
  day_of_month: ['{0} {1}', '{1}{0}日', '{1}{0}日'],
  month_of_year: ['{0} {1}', '{1}年{0}', '{1}年{0}'],
});
