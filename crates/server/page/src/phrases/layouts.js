// Texts of charts side by side and of saved layouts.

import { phrasesOf } from '../phrase.js';

export const phrase = phrasesOf({
  layouts: ['Layouts', '布局', '版面'],
  charts: ['Number of charts', '图表数量', '圖表數量'],
  charts_1: ['1 chart', '1 图', '1 圖'],
  charts_2: ['2 charts', '2 图', '2 圖'],
  charts_4: ['4 charts', '4 图', '4 圖'],
  name: ['Name of this layout', '此布局的名称', '此版面的名稱'],
  name_new: ['New name of {0}', '{0} 的新名称', '{0} 的新名稱'],
  save: ['Save', '保存', '儲存'],
  saved: ['Saved: {0}.', '已保存：{0}。', '已儲存：{0}。'],
  open: ['Open {0}', '打开 {0}', '開啟 {0}'],
  rename: ['Rename', '重命名', '重新命名'],
  rename_one: ['Rename {0}', '重命名 {0}', '重新命名 {0}'],
  renamed: ['Renamed.', '已重命名。', '已重新命名。'],
  delete: ['Delete', '删除', '刪除'],
  delete_one: ['Delete {0}', '删除 {0}', '刪除 {0}'],
  deleted: ['Deleted: {0}.', '已删除：{0}。', '已刪除：{0}。'],
  cancel: ['Cancel', '取消', '取消'],
  done: ['Done', '完成', '完成'],
  none: ['No saved layouts.', '尚无已保存的布局。', '尚無已儲存的版面。'],
  hint: [
    'A layout has the charts with their securities, periods, ranges and indicators. The address has the same: share it. Keys [ and ] focus the previous and the next chart.',
    '布局包含各图表的证券、周期、范围与指标；网址包含相同内容，可分享。按 [ 与 ] 切换图表。',
    '版面包含各圖表的證券、週期、範圍與指標；網址包含相同內容，可分享。按 [ 與 ] 切換圖表。',
  ],
  focus: ['Chart {0}', '图表 {0}', '圖表 {0}'],
  loading: ['Loading…', '载入中…', '載入中…'],
  empty: ['No candles.', '没有K线。', '沒有K線。'],
  refused: ['Refused: {0}', '已拒绝：{0}', '已拒絕：{0}'],
});
